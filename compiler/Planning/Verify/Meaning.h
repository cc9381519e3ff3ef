// The numbers of expressions (Content.h), of facts that values and plans state in forms of their own. Also how the runs
// of several kinds of ranks wait for each other at collectives that they share.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_MEANING_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_MEANING_H

#include "compiler/Planning/Verify/Content.h"
#include "runtime/plan/Opcode.h"

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace cleave::plan {

// What an entry program leaves: "state NAME", "output NAME", "calls" -> number.
using Meaning = std::map<std::string, ValueNumber>;
ValueNumber meaningOfCalls(std::string_view calls);
// The calls of an entry, with what it has given them (Bodies.h).
std::string callsWith(const std::string &calls, const ValueNumber &history);
std::string textOfCall(std::string_view program, int64_t times, int64_t firstFrame, int64_t skip);
// Of a program that changes no state and calls nothing.
inline Meaning meaningOfNothing() { return {{"calls", meaningOfCalls("")}}; }

// A call that repeats a body more often is not run as often: its first two runs and its last one are. All runs between
// them are covered by the body's own meaning, from states that may hold anything (compiler/Planning/Rationale.md).
inline constexpr int64_t kMaxInterpretedTimes = 3;
// Where values cross bodies or ranks no run of them is (Bodies.h), but the graph of who waits for whom has every one.
inline constexpr int64_t kAllTimes = std::numeric_limits<int64_t>::max();
// No program is looked at that runs more instructions than these, calls counted. Of one that does nothing else is told.
inline constexpr size_t kMaxInstructions = size_t{1} << 22;
std::string textOfTooLong(std::string_view program);

// Axes of a group, or those that something is cut along.
struct AxesFacts {
  std::string text;  // "dp:2,fsdp:4", in order
  std::string names; // "dp,fsdp"
  AxisMask axes = 0;
  uint64_t ranks = 1;

  std::map<uint64_t, std::vector<uint64_t>> only; // of axes: the coordinates that belong; of others all do

  void add(uint64_t axis, std::string_view name, uint64_t size);
  void addPlaces(uint64_t axis, std::string_view name, std::vector<uint64_t> coordinates);
  ValueNumber number() const { return Expression("axes").add(text).number(); }
};

// A state as its declaration has it: what a program finds there.
struct StateFacts {
  struct Segment {
    std::string name, source;
    std::vector<int64_t> shape;
    uint64_t offset = 0, group = 0, init = 0;
    double value = 0;
    std::string axis; // of a coordinate
  };
  std::string name, slot;
  uint64_t role = 0, dtype = 0, elements = 0, bytes = 0; // bytes: of one rank
  AxesFacts split, partial;
  AxisMask coordinates = 0; // axes of which it holds the coordinate
  std::vector<Segment> segments;

  Content content() const;
};

struct PortFacts {
  std::string name;
  uint64_t dtype = 0, bytes = 0;
  std::vector<int64_t> shape;
  int64_t batchDim = -1;
  AxesFacts split;

  // What the host has put there for a micro-batch.
  Content content(uint64_t frame) const;
  // What an output means that holds this.
  ValueNumber meaningOf(const Content &content) const;
};

struct KernelFacts {
  uint64_t kind = 0;
  std::string name;
  std::vector<int64_t> params;
  struct Operand {
    uint64_t bytes;
    bool reads, writes;
    uint64_t over; // 0: nothing
  };
  std::vector<Operand> operands; // of generated code
  std::vector<uint64_t> depends; // of each result, a mask of what is read; none: of all

  ValueNumber number() const;
};
// The `result`-th value that a kernel leaves, of these values read.
Content resultOf(const ValueNumber &kernel, const std::vector<uint64_t> &depends, size_t result, uint64_t bytes,
                 const std::vector<Content> &read);

struct CollectiveFacts {
  rt::Opcode opcode{};
  AxesFacts group;
  int64_t dtype = 0, reduction = 0, algorithm = 0, count = 0, root = 0;
};

// What the ranks of one kind, or all of a group, bring to a collective: its data, the own part of a gather's. Nothing
// from those that only receive.
struct Contribution {
  std::string where; // which ranks; empty: all
  std::optional<Content> data;
  bool isRoot = true;
};
// What a collective leaves on those that `who` stands for; nothing where it leaves nothing. `between`: other axes along
// which the kinds of ranks that take part have different ranks, so that some of `who` meet one of them and some
// another.
std::optional<Content> resultOf(const CollectiveFacts &facts, const std::vector<Contribution> &all, size_t who,
                                AxisMask between = 0);

// What is sent: from each rank to the one `offset` further on along an axis. `offset` is not negative.
struct TransferFacts {
  AxesFacts axis; // one
  int64_t offset = 0, channel = 0;
};
// What arrives, of what ranks of these kinds have sent: what is a value of all ranks along the axis stays it, else it
// is another rank's. `between`: other axes along which the kinds that send have different ranks.
Content received(const TransferFacts &facts, const std::vector<Contribution> &sent, AxisMask between = 0);

// The ranks of a kind: coordinates [begin, end) on every axis.
struct KindBox {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;

  // Whether ranks of both are in one group over these axes.
  bool meets(const KindBox &other, AxisMask axes) const;
  // Whether both have ranks in one group.
  bool meets(const KindBox &other, const AxesFacts &group) const {
    return isMember(group) && other.isMember(group) && meets(other, group.axes);
  }
  bool isMember(const AxesFacts &group) const;
  // Whether ranks of the other are `offset` further on along an axis, modulo its size, than ranks of this one.
  bool reaches(const KindBox &other, AxisMask axis, uint64_t offset, uint64_t size) const;
  std::string textOn(AxisMask axes) const;
  // The axes along which they do not have the same coordinates.
  AxisMask differsFrom(const KindBox &other) const {
    AxisMask axes = 0;
    for (size_t axis = 0; axis < ranges.size(); ++axis)
      axes |= ranges[axis] == other.ranges[axis] ? 0 : AxisMask{1} << axis;
    return axes;
  }
};

// A run of one kind's program that stops where it needs other ranks than those it stands for: at collectives across
// kinds, and at sends and receives. Nobody waits for a send to be taken here: whether ranks hang is KindMatching's.
class MeaningRun {
public:
  struct Stop {
    CollectiveFacts facts;
    TransferFacts transfer; // where the opcode is Send or Recv
    Contribution mine;
  };
  virtual ~MeaningRun() = default;
  // Runs on to the next collective that other kinds take part in; null: to the end.
  virtual const Stop *advance() = 0;
  virtual void deliver(const std::optional<Content> &result) = 0;
};

// Runs them to their ends. False where they do not meet each other: their collectives are not the same.
bool runTogether(const std::vector<MeaningRun *> &runs, const std::vector<KindBox> &boxes);

} // namespace cleave::plan

#endif

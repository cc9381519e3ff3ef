// Computes the numbers of expressions (Content.h) from facts that values and plans state in forms of their own. Also
// lets the runs of several kinds of ranks wait for each other at collectives that they share.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_MEANING_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_MEANING_H

#include "compiler/Planning/Verify/Facts/Content.h"
#include "runtime/plan/Opcode.h"

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace cleave::plan {

// What an entry program leaves, calls and checks: "state NAME", "output NAME", "calls", "checks" -> number.
using Meaning = std::map<std::string, ValueNumber>;
ValueNumber meaningOfCalls(std::string_view calls);
// The numbers that a program's kernels check (KernelDef::checkedBuffer): for each kernel, what it checks. A number out
// of range ends the program with an error, even if nobody reads the kernel's result. So they are a part of the meaning.
using Checks = std::set<ValueNumber>;
ValueNumber checkOf(const ValueNumber &kernel, const Content &checked);
// Adds "checks" if there are any.
void addChecks(const Checks &checks, Meaning &meaning);
// Returns the text of an entry's calls, with what the entry has given them (Bodies.h).
std::string callsWith(const std::string &calls, const ValueNumber &history);
std::string textOfCall(std::string_view program, int64_t times, int64_t firstFrame, int64_t skip);
// The meaning of a program that changes no state and calls nothing.
inline Meaning meaningOfNothing() { return {{"calls", meaningOfCalls("")}}; }

// If a call repeats a body more often than this, only its first two runs and its last one are run. The runs between
// them are covered by the body's own meaning, from states that may hold anything (Rationale.md, "Calls").
inline constexpr int64_t kMaxInterpretedTimes = 3;
// If values cross bodies or ranks, no call is run (Bodies.h), but the graph of who waits for whom has every run.
inline constexpr int64_t kAllTimes = std::numeric_limits<int64_t>::max();
// A program that runs more instructions than these, calls counted, is not examined. Nothing else is reported of it.
inline constexpr size_t kMaxInstructions = size_t{1} << 22;
std::string textOfTooLong(std::string_view program);

// The axes of a group, or the axes along which something is cut.
struct AxesFacts {
  std::string text;  // "2:dp:2,4:fsdp:4,", in order; other axes have another text, whatever their names are
  std::string names; // "dp,fsdp"
  AxisMask axes = 0;
  uint64_t ranks = 1;

  std::map<uint64_t, std::vector<uint64_t>> only; // coordinates of members, by axis; without an entry, all are members

  void add(uint64_t axis, std::string_view name, uint64_t size);
  void addCoordinates(uint64_t axis, std::string_view name, std::vector<uint64_t> coordinates);
  ValueNumber number() const { return Expression("axes").add(text).number(); }
};

// A state as it is declared, which is what a program finds there.
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
  AxisMask coordinates = 0; // axes whose coordinate it holds
  std::vector<Segment> segments;

  Content content() const;
};

struct PortFacts {
  std::string name;
  uint64_t dtype = 0, bytes = 0;
  std::vector<int64_t> shape;
  int64_t batchDim = -1;
  AxesFacts split;

  // The content that the host has fed for a micro-batch.
  Content content(uint64_t frame) const;
  // The meaning of an output that holds this content.
  ValueNumber meaningOf(const Content &content) const;
};

// What a kernel computes of its operands. Kernels with one number compute the same.
struct KernelComputation {
  uint64_t kind = 0;
  std::string name;
  uint64_t code = 0; // of generated code: a hash of what it computes
  std::vector<int64_t> params;
  struct Operand {
    uint64_t bytes;
    bool reads, writes;
    uint64_t over; // 0: nothing
  };
  std::vector<Operand> operands; // of generated code
  std::vector<uint64_t> depends; // for each result, a mask of the operands that it is computed from; empty: all

  ValueNumber number() const;
};
// Returns the `result`-th value that a kernel leaves if it reads these values.
Content resultOf(const ValueNumber &kernel, const std::vector<uint64_t> &depends, size_t result, uint64_t bytes,
                 const std::vector<Content> &read);

struct CollectiveFacts {
  rt::Opcode opcode{};
  AxesFacts group;
  int64_t dtype = 0, reduction = 0, algorithm = 0, count = 0, root = 0;
};

// The contribution of the ranks of one kind, or of all ranks of a group, to a collective: its data, or only the own
// part for a gather. Ranks that only receive contribute no data.
struct Contribution {
  std::string where; // which ranks; empty: all
  std::optional<Content> data;
  bool isRoot = true;
};
// Returns what a collective leaves on the ranks of contribution `who`; nothing if it leaves nothing there. `between`:
// other axes on which the kinds that take part have different ranks, so that different ranks of `who` meet different
// kinds.
std::optional<Content> resultOf(const CollectiveFacts &facts, const std::vector<Contribution> &all, size_t who,
                                AxisMask between = 0);

// A message from each rank to the one `offset` further on along an axis. `offset` is not negative.
struct TransferFacts {
  AxesFacts axis; // one
  int64_t offset = 0, channel = 0;
};
// Returns what arrives if the ranks of these kinds send this. A value that is the same on all ranks along the axis
// stays the same value. Any other value becomes that of another rank. `between`: other axes on which the kinds that
// send have different ranks.
Content received(const TransferFacts &facts, const std::vector<Contribution> &sent, AxisMask between = 0);

// The ranks of a kind: coordinates [begin, end) on every axis.
struct KindBox {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;

  // True if ranks of both are in one group over these axes.
  bool meets(const KindBox &other, AxisMask axes) const;
  // The same, and both have members in the group.
  bool meets(const KindBox &other, const AxesFacts &group) const {
    return isMember(group) && other.isMember(group) && meets(other, group.axes);
  }
  bool isMember(const AxesFacts &group) const;
  // True if ranks of the other are `offset` further on along an axis, modulo its size, than ranks of this one.
  bool reaches(const KindBox &other, AxisMask axis, uint64_t offset, uint64_t size) const;
  std::string textOn(AxisMask axes) const;
  // The axes on which the two do not have the same coordinates.
  AxisMask differsFrom(const KindBox &other) const {
    AxisMask axes = 0;
    for (size_t axis = 0; axis < ranges.size(); ++axis)
      axes |= ranges[axis] == other.ranges[axis] ? 0 : AxisMask{1} << axis;
    return axes;
  }
};

// A run of one kind's program. It stops where it needs ranks that it does not stand for: at collectives across kinds,
// and at sends and receives. A send does not wait for its receive here, because KindMatching finds whether ranks hang.
class MeaningRun {
public:
  struct Stop {
    CollectiveFacts facts;
    TransferFacts transfer; // if the opcode is Send or Recv
    Contribution mine;
  };
  virtual ~MeaningRun() = default;
  // Runs to the next stop and returns it; null at the end.
  virtual const Stop *advance() = 0;
  virtual void deliver(const std::optional<Content> &result) = 0;
};

// Runs all to their ends. Returns false if they do not meet, because their collectives are not the same.
bool runToEnd(const std::vector<MeaningRun *> &runs, const std::vector<KindBox> &boxes);

} // namespace cleave::plan

#endif

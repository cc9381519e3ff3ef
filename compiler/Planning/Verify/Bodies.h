// Bodies of pipelines by themselves: what a body does is computed once, for whatever it finds, and not for each
// micro-batch (Rationale.md, "Bodies by themselves").
//
// What a body finds has symbols: a state as it is declared, a cross-body region (its frames cross bodies) in the frame
// that runs, the n-th message of a channel. What it leaves are states, cross-body regions and messages, as numbers over
// these symbols. The entry that calls bodies finds states "after the calls so far". The model's side (ValueRun.h) and
// the plan's (PlanMeaning.h) have the same symbols.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_BODIES_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_BODIES_H

#include "compiler/Planning/Verify/Meaning.h"
#include "compiler/Planning/Verify/TransferChannel.h"

#include <set>

namespace cleave::plan {

ValueNumber crossBodySymbol(std::string_view region, uint64_t place);
// Of what is there after calls: it depends on what the calls were given, which `history` has, and on where it is.
// Kinds that are alike (AlikeKinds.h) have it under the name of the first of them.
ValueNumber afterCalls(const ValueNumber &place, const KindBox &firstAlike, const ValueNumber &history);
// Of a state that bodies leave as nobody needs it.
ValueNumber lostSymbol(const ValueNumber &state);
// That of one more call. `changed`: the states that the entry itself has changed since it began, or since the call
// before.
ValueNumber historyAfter(const ValueNumber &history, const std::map<std::string, ValueNumber> &changed);

// What one run of a body sends and takes, and what it brings to collectives with other kinds. A body may meet kinds
// alone that do the same in their bodies (AlikeKinds.h): then the collective is one of ranks of one program.
class Messages {
public:
  void send(const TransferFacts &facts, const Content &content);
  // The next that comes on the channel.
  Content take(const TransferFacts &facts, uint64_t bytes, AxisMask varies);
  // Of a collective to which other kinds bring the same.
  void meet(const CollectiveFacts &facts, const Content &mine);
  bool empty() const { return sent_.empty() && taken_.empty(); }
  ValueNumber number() const;
  const std::map<TransferChannel, TransferFacts> &taken() const { return channels_; } // on what it has taken
  // Collectives over a group, in order: what the kind has brought, and along which axes that differs.
  struct Met {
    AxesFacts group;
    ValueNumber brought;
  };
  const std::map<std::string, Met> &met() const { return met_; } // by group

private:
  std::map<TransferChannel, std::vector<ValueNumber>> sent_;
  std::map<TransferChannel, uint64_t> taken_;
  std::map<TransferChannel, TransferFacts> channels_;
  std::map<std::string, Met> met_;
};

// Along which axes the bytes of a cross-body region may differ.
class CrossBodyVariance {
public:
  struct Range {
    uint64_t end;
    AxisMask varies;
  };
  void join(uint64_t begin, uint64_t end, AxisMask varies);
  AxisMask of(uint64_t begin, uint64_t end) const;
  const std::map<uint64_t, Range> &ranges() const { return ranges_; } // by first byte

private:
  std::map<uint64_t, Range> ranges_;
};

// What is known of the bodies of one kind of ranks. It only grows: what it says of axes is run until it stays.
struct BodyFacts {
  // What a run of a body does to states.
  struct Effect {
    std::vector<uint32_t> runs;        // the programs that a call runs: it, and those that it calls
    std::set<std::string> stated;      // the plan says what it leaves in them
    std::set<std::string> readFirst;   // as they were when it began
    std::set<std::string> overwritten; // nothing of what they were is left
    std::set<std::string> lost;        // they hold something else, and nobody says what
  };
  std::map<uint32_t, Effect> effects;              // by program
  std::map<unsigned, CrossBodyVariance> crossBody; // by region
  std::map<std::string, AxisMask> states;          // by name: beyond what is declared
  // Of receives, by (program, index): what is sent to them. It is known of each by itself: what crosses beside it on
  // the channel may differ along other axes.
  std::map<std::pair<uint32_t, uint32_t>, AxisMask> arriving;
  KindBox firstAlike; // of the kinds that do the same (AlikeKinds.h)
};

} // namespace cleave::plan

#endif

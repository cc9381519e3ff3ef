// Proves the bodies of pipelines by themselves: the effect of a body is computed once, for any inputs, and not for each
// micro-batch (Rationale.md, "Bodies by themselves").
//
// The proof names each input of a body by a symbol: a state as it is declared, a cross-body region (a region that
// passes values from body to body) in the frame that runs, the n-th message of a channel. The results of a body are
// states, cross-body regions and messages, as numbers over these symbols. Example: a body that receives message m and
// adds it to state s leaves add(symbol of s, symbol of m) in s. An entry that calls bodies names a state that they
// change "after the calls so far". The model's side (ValueRun.h) and the plan's side (PlanMeaning.h) use the same
// symbols.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_BODIES_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_BODIES_H

#include "compiler/Planning/Verify/Facts/Meaning.h"
#include "compiler/Planning/Verify/Facts/TransferChannel.h"

#include <set>

namespace cleave::plan {

ValueNumber crossBodySymbol(std::string_view region, uint64_t place);
// The symbol of the content of a place after calls. It depends on what the calls were given, which is in `history`, and
// on the place. All kinds that are alike (AlikeKinds.h) use the name of the first of them.
ValueNumber afterCalls(const ValueNumber &place, const KindBox &firstAlike, const ValueNumber &history);
// The symbol of a state that bodies change, and whose content nobody needs.
ValueNumber lostSymbol(const ValueNumber &state);
// Returns the history after one more call. `changed` are the states that the entry itself has changed since it began,
// or since the call before.
ValueNumber historyAfter(const ValueNumber &history, const std::map<std::string, ValueNumber> &changed);

// The messages of one run of a body, and what it contributes to collectives with other kinds. A body may only meet
// kinds that do the same in their bodies (AlikeKinds.h). Then the collective is one of ranks of one program.
class Messages {
public:
  void send(const TransferFacts &facts, const Content &content);
  // Returns the next message that arrives on the channel.
  Content take(const TransferFacts &facts, uint64_t bytes, AxisMask varies);
  // Adds a collective to which the other kinds make the same contribution.
  void meet(const CollectiveFacts &facts, const Content &mine);
  bool empty() const { return sent_.empty() && taken_.empty(); }
  ValueNumber number() const;
  const std::map<TransferChannel, TransferFacts> &taken() const { return channels_; } // on which it has received
  // The collectives over a group, in order: what the kind has contributed, and along which axes that differs.
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

// The axes along which the bytes of a cross-body region may differ.
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

// What is known of the bodies of one kind of ranks. Facts are only added: bodies run again until those about axes are
// stable.
struct BodyFacts {
  // What a run of a body does to states.
  struct Effect {
    std::vector<uint32_t> runs;        // the programs that a call runs: the body, and those that it calls
    std::set<std::string> stated;      // the plan states a number for their new content
    std::set<std::string> readFirst;   // read before they are written
    std::set<std::string> overwritten; // nothing of their old content is left
    std::set<std::string> lost;        // changed, and the plan states no number
  };
  std::map<uint32_t, Effect> effects;              // by program
  std::map<unsigned, CrossBodyVariance> crossBody; // by region
  std::map<std::string, AxisMask> states;          // by name: axes in addition to the declared ones
  // The axes along which the bytes that a receive gets may differ, by (program, index) of the receive. Each receive has
  // its own, because other values on the same channel may differ along other axes.
  std::map<std::pair<uint32_t, uint32_t>, AxisMask> arriving;
  KindBox firstAlike; // the first of the kinds that do the same (AlikeKinds.h)
};

} // namespace cleave::plan

#endif

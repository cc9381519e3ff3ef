// Finds kinds of ranks that do the same in bodies: for example a parameter server and its workers, which differ only in
// the update.
//
// Bodies are proved kind by kind, for any content that they may find (Bodies.h). So numbers alone do not tell whether
// two kinds hold the same value. Kinds are *alike* if
//   - they have the same bodies, which leave the same values in the states that both kinds have, in cross-body regions
//     and in messages, as numbers over the same symbols;
//   - their entries call these bodies in the same order, and change nothing before the last call;
//   - whatever they receive on a channel comes from kinds that are alike;
//   - the kinds that they meet in collectives of bodies are alike, too, and all make the same contributions in the same
//     order.
//
// Then the ranks of both kinds are ranks of one program. By induction over what they run, a value that does not differ
// along an axis (Piece::varies) is one value for all ranks whose coordinates differ only on that axis, whichever kind
// they belong to:
//
//   stage0.server  c0.fwd: counter' = counter + 1, send f(x, w)      counter: one value on server and worker
//   stage0.worker  c0.fwd: counter' = counter + 1, send f(x, w)      f(x, w): each rank has its own x, so it varies
//
// Entries that write to cross-body regions, lists of calls with other instructions, and broadcasts between kinds in
// bodies are refused earlier (PlanMeaning::getUnproved).
//
// Rejected: comparing only what bodies leave in one state. Two bodies that leave the same function of their messages
// leave two values if different messages are sent to them.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_ALIKEKINDS_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_ALIKEKINDS_H

#include "compiler/Planning/Verify/Values/Bodies.h"

#include <set>

namespace cleave::plan {

// What one kind of ranks does in its bodies, and when they are called.
struct KindOfBodies {
  KindBox box;
  std::string calls;                              // the lists of calls of its entries
  bool callsFirst = true;                         // its entries change nothing before their last call
  std::set<std::string> states;                   // the states that it has
  std::map<std::string, Meaning> bodies;          // by program; only states that are changed and that others read
  std::map<TransferChannel, TransferFacts> taken; // the channels on which the bodies receive
  std::map<std::string, AxesFacts> met;           // the groups in which the bodies meet other kinds
  void add(const std::string &body, Meaning meaning, const Messages &messages);
};

// Returns for each kind the ranks of the first kind that is alike, perhaps itself. The first is found by its ranks, so
// that the order in which kinds are listed does not matter.
std::vector<KindBox> firstAlike(const std::vector<KindOfBodies> &kinds);
// Returns two kinds that meet in a collective of bodies and are not alike, if there are such kinds. The result of such
// a collective is not known. `first` is the result of firstAlike().
std::optional<std::pair<size_t, size_t>> meetUnlike(const std::vector<KindOfBodies> &kinds,
                                                    const std::vector<KindBox> &first);

} // namespace cleave::plan

#endif

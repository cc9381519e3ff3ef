// Which kinds of ranks do the same in bodies: a parameter server and its workers, which differ in the update alone.
//
// Bodies are proved kind by kind, for whatever they find (Bodies.h), so that numbers alone do not say whether two kinds
// hold one value. Kinds are *alike* if
//   - they have the same bodies, which leave the same in the states that both have, in cross-body regions and in
//     messages, as numbers over the same symbols;
//   - their entries call these in the same order, and change nothing before the last call;
//   - what they receive on a channel comes from kinds that are alike;
//   - whom they meet in collectives of bodies they are alike, too, and all bring the same, in one order.
//
// Then ranks of both are ranks of one program. By induction over what they run, a value that does not differ along an
// axis (Piece::varies) is one value for all ranks that differ in their coordinates on that axis alone, whichever of the
// kinds they are of:
//
//   stage0.server  c0.fwd: counter' = counter + 1, send f(x, w)      counter: one value on server and worker
//   stage0.worker  c0.fwd: counter' = counter + 1, send f(x, w)      f(x, w): another x on each, so that it varies
//
// Entries that write to cross-body regions, lists that do something themselves and broadcasts between kinds in bodies
// are refused before (PlanMeaning::getUnproved).
//
// Rejected: to compare only what bodies leave in one state. Two bodies that leave the same function of what arrives
// leave two values where other kinds send to them.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_ALIKEKINDS_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_ALIKEKINDS_H

#include "compiler/Planning/Verify/Bodies.h"

#include <set>

namespace cleave::plan {

// What one kind of ranks does in its bodies, and what decides when.
struct KindOfBodies {
  KindBox box;
  std::string calls; // of its entries
  bool callsFirst = true;
  std::set<std::string> states;                   // those that it has
  std::map<std::string, Meaning> bodies;          // by program; of states what is changed and read by others
  std::map<TransferChannel, TransferFacts> taken; // on what they receive
  std::map<std::string, AxesFacts> met;           // over what they meet other kinds in collectives
  void add(const std::string &body, Meaning meaning, const Messages &messages);
};

// For each kind the ranks of the first that is alike, perhaps itself: first by its ranks, in whatever order kinds are
// listed.
std::vector<KindBox> firstAlike(const std::vector<KindOfBodies> &kinds);
// Two kinds that meet in a collective of bodies and are not alike, of which `first` tells: what such a collective
// leaves is not known.
std::optional<std::pair<size_t, size_t>> meetUnlike(const std::vector<KindOfBodies> &kinds,
                                                    const std::vector<KindBox> &first);

} // namespace cleave::plan

#endif

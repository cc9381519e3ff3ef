// What each collective needs and leaves on the ranks of its group, as a table. This is all that the abstract runs of
// Execution know of one opcode and not of another. It describes the first buffer, `data`. Other buffers are staging,
// and hold no value afterwards.
//
//   opcode           needs             afterwards, along the group   leaves
//   all_reduce       all               equal                          all
//   reduce_scatter   all               different                      the rank's own share
//   all_gather       its own share     equal                          all
//   reduce           all               different                      the root's
//   broadcast        the root's        equal                          all
//
// Rejected: a case for an opcode wherever it matters. A new collective would have to be added in each of these places.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_COLLECTIVEMEANING_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_COLLECTIVEMEANING_H

#include "runtime/plan/InstructionView.h"

namespace cleave::plan {

enum class DataPart {
  All,
  OwnShare, // count / N elements, at the rank's place
  OfRoot,   // all, but only on the root
};

struct CollectiveMeaning {
  rt::Opcode opcode;
  DataPart needs;
  bool equalizes;
  DataPart leaves;
};

inline constexpr CollectiveMeaning kCollectiveMeanings[] = {
    {rt::Opcode::AllReduce, DataPart::All, true, DataPart::All},
    {rt::Opcode::ReduceScatter, DataPart::All, false, DataPart::OwnShare},
    {rt::Opcode::AllGather, DataPart::OwnShare, true, DataPart::All},
    {rt::Opcode::Reduce, DataPart::All, false, DataPart::OfRoot},
    {rt::Opcode::Broadcast, DataPart::OfRoot, true, DataPart::All},
};

// Returns null for an instruction that is no collective.
inline const CollectiveMeaning *meaningOf(rt::Opcode opcode) {
  for (const CollectiveMeaning &meaning : kCollectiveMeanings)
    if (meaning.opcode == opcode)
      return &meaning;
  return nullptr;
}

} // namespace cleave::plan

#endif

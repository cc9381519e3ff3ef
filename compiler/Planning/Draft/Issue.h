// Decides how each instruction is issued: on which stream, and whether it may move up. This is decided once for all
// instructions of a draft, by their purpose (Purpose), and after allocations have been merged: an allocation may have
// become a part of a state since the instruction was made.
//
//                     stream    moves up
//   Compute           compute   no
//   Relocate          compute   yes
//   Reduce            reduce    yes
//   Gather            gather    yes
//   GatherFromHost    copy      yes
//   Broadcast         gather    no
//   CopyIn            copy      no
//   CopyOut           copy      yes
//   Transfer          as its body says
//
// prefetchGathers moves the instructions of a gather (DraftInstruction::gather) together:
//
//   a gather of states   its instructions do not move up by themselves; the kernels that make its part are on the
//                        gather stream
//   a copy               moves up, too, so that it does not hold up an early instruction that needs it;
//                        prefetchGathers then finds its own position
//   into a state         is not prefetched: it belongs where its part is made, and the table applies
#ifndef CLEAVE_COMPILER_PLANNING_DRAFT_ISSUE_H
#define CLEAVE_COMPILER_PLANNING_DRAFT_ISSUE_H

#include "compiler/Planning/Draft/Prefetch.h"

namespace cleave::plan {

// True if instructions of this purpose move up, gathers aside.
bool movesUp(Purpose purpose);

// Sets `stream` and `early` of each instruction. `gathers` tells which gathers are copies, and which fill states.
void issue(std::vector<DraftInstruction> &instructions, const std::vector<Gather> &gathers);

} // namespace cleave::plan

#endif

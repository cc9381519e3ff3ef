// How an instruction is issued: on which stream it is, and whether it may move up. Decided once for all instructions of
// a draft, by what each is for (Purpose), when it is known what became of allocations: one may have been merged into a
// state since the instruction was made.
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
// What is part of a gather (DraftInstruction::gather) is moved as a whole by prefetchGathers:
//
//   a gather of states   its instructions do not move up for themselves; the kernels that make its part are on the
//                        gather stream
//   a copy               moves up, too, with what it is for, which is not held up then; its own position is found later
//   into a state         no prefetch: it belongs where its part is made, and the table holds
#ifndef CLEAVE_COMPILER_PLANNING_DRAFT_ISSUE_H
#define CLEAVE_COMPILER_PLANNING_DRAFT_ISSUE_H

#include "compiler/Planning/Draft/Prefetch.h"

namespace cleave::plan {

// Whether instructions of this purpose move up, gathers aside.
bool movesUp(Purpose purpose);

// Sets `stream` and `early` of each instruction. `gathers` say which of them fill states.
void issue(std::vector<DraftInstruction> &instructions, const std::vector<Gather> &gathers);

} // namespace cleave::plan

#endif

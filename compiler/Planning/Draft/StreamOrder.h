// Orders a draft's instructions, within streams and across.
#ifndef CLEAVE_COMPILER_PLANNING_DRAFT_STREAMORDER_H
#define CLEAVE_COMPILER_PLANNING_DRAFT_STREAMORDER_H

#include "compiler/Planning/Draft/Draft.h"

namespace cleave::plan {

// Moves every instruction marked `early` up to directly after the last instruction that it conflicts with or that its
// `after` names, and after the early instructions that are there already.
//
// For example, the all-reduce of a bucket is issued as soon as the backward pass has written the bucket, and runs at
// the same time as the rest of the backward pass. List scheduling over the cost model could replace this. The greedy
// rule is optimal while one stream reduces.
void hoistEarly(std::vector<DraftInstruction> &instructions);

// True if the order of the two instructions matters. Scratch carries no data: two uses of it conflict only if
// `countScratch`, which matters between streams that share it.
bool conflict(const DraftInstruction &a, const DraftInstruction &b, bool countScratch);

// Adds records and waits, which ensure three things. Instructions of different streams that conflict, or that `after`
// names, run in the listed order. Every stream starts after the program's start. The first stream ends after the ends
// of all others. If other waits already imply an order, no wait is added for it (vector clocks, as in PlanVerifier.h).
// Returns the number of events.
unsigned synchronize(std::vector<DraftInstruction> &instructions, unsigned streams);

} // namespace cleave::plan

#endif

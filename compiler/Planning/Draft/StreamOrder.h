// The order of a draft's instructions, within streams and across.
#ifndef CLEAVE_COMPILER_PLANNING_DRAFT_STREAMORDER_H
#define CLEAVE_COMPILER_PLANNING_DRAFT_STREAMORDER_H

#include "compiler/Planning/Draft/Draft.h"

namespace cleave::plan {

// Moves every instruction marked `early` up to right after the last instruction that it conflicts with or is `after`,
// and after the early instructions that already stand there.
//
// So the all-reduce of a bucket is issued when the backward pass has written the bucket, and the rest of the backward
// pass runs beside it. List scheduling over the cost model can replace this; the greedy rule is optimal while one
// stream reduces.
void hoistEarly(std::vector<DraftInstruction> &instructions);

// Whether the order of two instructions matters. Scratch orders nothing but streams that share it.
bool conflict(const DraftInstruction &a, const DraftInstruction &b, bool countScratch);

// Adds records and waits so that instructions of different streams that conflict, or are named by `after`, are ordered
// as listed, every stream starts after the program's start and the first stream ends after all others' ends. A wait
// whose order is already known from other waits is not added (vector clocks, as in PlanVerifier.h). Returns the number
// of events.
unsigned synchronize(std::vector<DraftInstruction> &instructions, unsigned streams);

} // namespace cleave::plan

#endif

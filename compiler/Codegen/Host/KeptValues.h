// Values that one stage of a kernel computes and the host's loops keep for later ones: on the stack, costly values
// (with a transcendental function) where rows are short enough; in the form with a block along which accumulators are
// arrays, also what has a value for each of its columns.
#ifndef CLEAVE_COMPILER_CODEGEN_HOST_KEPTVALUES_H
#define CLEAVE_COMPILER_CODEGEN_HOST_KEPTVALUES_H

#include "compiler/Codegen/Host/LoopForm.h"
#include "compiler/Codegen/Loops/StagePlan.h"

namespace cleave {

// Fills in Stage::rowBuffers and Stage::tileValues.
void keepValues(const KernelGraph &graph, const LoopForm &form, StagePlan &plan);

} // namespace cleave

#endif

// Decides which values of one stage of a kernel the host's loops keep for later stages. Costly values (with a
// transcendental function or many ops) are kept on the stack if rows are short enough. If accumulators are arrays along
// a tile, values with one element for each of its columns are kept too.
#ifndef CLEAVE_COMPILER_CODEGEN_HOST_KEPTVALUES_H
#define CLEAVE_COMPILER_CODEGEN_HOST_KEPTVALUES_H

#include "compiler/Codegen/Host/LoopForm.h"
#include "compiler/Codegen/Loops/StagePlan.h"

namespace cleave {

// Fills in Stage::rowBuffers and Stage::tileValues.
void keepValues(const KernelGraph &graph, const LoopForm &form, StagePlan &plan);

} // namespace cleave

#endif

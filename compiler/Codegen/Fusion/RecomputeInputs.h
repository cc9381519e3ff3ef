// Values that readers make again, rather than read.
#ifndef CLEAVE_COMPILER_CODEGEN_FUSION_RECOMPUTEINPUTS_H
#define CLEAVE_COMPILER_CODEGEN_FUSION_RECOMPUTEINPUTS_H

#include "compiler/Codegen/Fusion/FormedOps.h"
#include "compiler/Codegen/Fusion/Grouping.h"

namespace cleave {

// A value that one group makes and others read is stored, if only for them. Where each of them would read fewer bytes by
// making it again of what its maker reads, or stores anyway, each gets copies of the ops that make it, and it is not
// stored. Then no more bytes wait for the readers than before.
//
//   A  n = (cast x - m) * r    x bf16, n f32: 4 bytes an element are written, and read by B      A  z = max n
//      z = max n                                                                            =>
//   B  y = n * w                                                                                 B  y = ((cast x - m) * r) * w
//
// `forms` has the forms of the groups' ops, and of nothing that is made here.
void recomputeInputs(std::vector<FusionGroup> &groups, const FormedOps &forms);

} // namespace cleave

#endif

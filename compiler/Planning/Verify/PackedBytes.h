// Part of verifyPlan(): bytes that `init` has packed are read by the kernels that want them so, and by nothing else.
//
// A library kernel with a parameter packed_B reads its buffer B as the kernel NAME_pack_B of the same parameters leaves
// it (Kernels.def). `init` packs states in place when a program starts. What the numbers of other programs say of a state
// is its declared value, which is that of the plain bytes, so they cannot tell. Rule "packed":
//
//   - only init packs; it packs each byte once, and nothing writes the byte afterwards, in no program;
//   - a buffer that a kernel wants packed is one that init leaves, of this kernel and parameters;
//   - a buffer with packed bytes is one that its kernel wants so.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_PACKEDBYTES_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_PACKEDBYTES_H

#include "compiler/Planning/Verify/PlanVerifier.h"

namespace cleave::plan {

// Of the plan of one kind of ranks.
void checkPackedBytes(const rt::fb::Plan &plan, std::vector<Finding> *findings);

} // namespace cleave::plan

#endif

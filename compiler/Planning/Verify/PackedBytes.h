// Part of verifyPlan(): checks that bytes which `init` has packed are read only by the kernels that want this form.
//
// A library kernel with a parameter packed_B reads its buffer B in the form in which the kernel NAME_pack_B with the
// same parameters leaves it (Kernels.def). `init` packs states when a program starts, in place, or in device memory if
// they are kept on the host. The numbers of other programs refer to a state's declared value, plain or packed, so they
// cannot check this. Instead, each program is followed in issue order, from the forms in which init leaves the states.
// Rule "packed":
//
//   - only init packs, and packs no byte twice; other programs leave packed states as they are;
//   - a buffer that a kernel wants packed is one that was packed by this kernel's packer and parameters, and copied since;
//   - nothing else reads packed bytes.
//
//   init       matmul_pack_b  W                  W is packed
//   forward    copy W -> t                       t is, too, until t is written again
//              matmul (packed_b = 1)  x, t       right; with packed_b = 0, or other sizes, a finding
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_PACKEDBYTES_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_PACKEDBYTES_H

#include "compiler/Planning/Verify/PlanVerifier.h"

namespace cleave::plan {

// Checks the plan of one kind of ranks.
void checkPackedBytes(const rt::fb::Plan &plan, std::vector<Finding> *findings);

} // namespace cleave::plan

#endif

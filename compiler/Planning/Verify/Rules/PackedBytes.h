// Part of verifyPlan(): checks that bytes which `init` has packed are read only by the kernels that want this form.
//
// A library kernel with a parameter packed_B reads its buffer B in the form in which the kernel NAME_pack_B with the
// same parameters leaves it (Kernels.def). `init` packs states when a program starts, in place, or in device memory if
// they are kept on the host. The numbers of other programs refer to a state's declared value, plain or packed, so they
// cannot check this. Instead, each entry program is followed in issue order, with all of its calls and in the frames in
// which they run, from the forms in which init leaves the states. Rule "packed":
//
//   - only init packs, and packs no byte twice; no other program writes to packed states, or moves packed bytes to
//     memory that stays;
//   - a buffer that a kernel wants packed is one that was packed by this kernel's packer and parameters, and copied since;
//   - nothing else reads packed bytes, nor does the host: they are not copied to outputs or to the snapshot, and a plan
//     that trains packs nothing, because checkpoints hold states in the model's form.
//
//   init       matmul_pack_b  W                  W is packed
//   forward    copy W -> t                       t is, too, until t is written again
//              matmul (packed_b = 1)  x, t       right; with packed_b = 0, or other sizes, a finding
//   infer      call prepare 4 times              copies W to frames 0 to 3 of the region r
//              call layer 4 times                wants frames 0 to 3 of r packed: right
//
// A call that repeats is followed until whole rounds of it (the runs after which all places come again) change nothing.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_RULES_PACKEDBYTES_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_RULES_PACKEDBYTES_H

#include "compiler/Planning/Verify/PlanVerifier.h"

namespace cleave::plan {

// Checks the plan of one kind of ranks.
void checkPackedBytes(const rt::fb::Plan &plan, std::vector<Finding> *findings);

} // namespace cleave::plan

#endif

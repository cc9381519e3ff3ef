// Finds states that a plan keeps in the format of the library kernel that reads them.
//
// A library multiplies and convolves fastest in its own formats, and a kernel that gets plain weights converts them at
// each launch. Weights that no program writes are converted only once instead, in place, by the entry program `init`.
// The runtime runs it whenever it has loaded states:
//
//   plan.state @w : tensor<2359296xf32> parameter ...
//   plan.program @init    launch @convolution_pack_w.7 [w: read_write, scratch]
//   plan.program @infer   launch @convolution.8 [x, w, y, scratch]                  // its parameter packed_w is the form
//
// A state is packed if all its readers are library kernels of equal parameters, each reads it as the same buffer B, and
// the kernel has a parameter `packed_B` (Kernels.def). A state stays plain if two kernels want different formats, if
// the format is the plain one, or if it needs more bytes than the state has. Training packs nothing
// (PlanningOptions::packed is null), because it saves and exports the bytes of states, and those of a frozen parameter
// would be packed.
//
// Rejected: packing at compile time (weights would depend on the library's version on the machine that compiles, and
// --weights could not replace them); a second copy in addition to the plain one (twice the memory, for bytes that are
// read once).
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_PACKEDSTATES_H
#define CLEAVE_COMPILER_PLANNING_BUILD_PACKEDSTATES_H

#include "compiler/Planning/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace cleave::plan {

// The number of packed forms. They are tried in order, from 1 on; form 0 is plain. The kernel defines the forms
// (Kernels.def). A form that the target does not want has a size of 0 bytes.
constexpr int64_t kPackedForms = 2;

struct PackedState {
  std::string packer;          // name of the kernel in Kernels.def
  std::vector<int64_t> params; // of the packer, which are those of the kernel that reads its result
  int64_t form;
};

// The buffer that a kernel reads in a format of its own.
struct PackedOperand {
  unsigned number;
  int64_t form;
};

// Returns the parameters of the kernel that `op` names, in the order of Kernels.def.
mlir::FailureOr<std::vector<int64_t>> encodeParams(mlir::Operation *op, std::optional<PackedOperand> packed);

// Returns the packed states by their names; none if the options have no sizer.
mlir::FailureOr<llvm::StringMap<PackedState>> findPackedStates(mlir::ModuleOp module, const PlanningOptions &options);

} // namespace cleave::plan

#endif

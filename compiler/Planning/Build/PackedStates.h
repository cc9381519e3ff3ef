// States that a plan keeps in the format of the library kernel that reads them.
//
// A library multiplies and convolves fastest in formats of its own, and a kernel that is given plain weights rewrites
// them at each launch. Weights that no program writes are rewritten once instead, in place, by the entry program
// `init`, which the runtime runs whenever it has loaded states:
//
//   plan.state @w : tensor<2359296xf32> parameter ...
//   plan.program @init    launch @convolution_pack_w.7 [w: read_write, scratch]
//   plan.program @infer   launch @convolution.8 [x, w, y, scratch]                  // its parameter packed_w is the form
//
// A state is packed when all that reads it are library kernels of equal parameters, each as the same buffer B, and the
// kernel has a parameter `packed_B` (Kernels.def). Where two kernels want different formats, or the format is the plain
// one or needs more than the state's bytes, the plain one stays. Training packs nothing (PlanningOptions::packed is
// null), since what it saves and exports are a state's bytes: those of a frozen parameter would be packed ones.
//
// Rejected: packing at compile time (weights would depend on the library's version on the machine that compiles, and
// --weights could not replace them); a second copy beside the plain one (twice the memory, for bytes that are read
// once).
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_PACKEDSTATES_H
#define CLEAVE_COMPILER_PLANNING_BUILD_PACKEDSTATES_H

#include "compiler/Planning/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace cleave::plan {

// Forms are tried in this order, from 1 on; 0 is plain. What a form is the kernel says (Kernels.def), and one that the
// target does not want is told by 0 bytes.
constexpr int64_t kPackedForms = 2;

struct PackedState {
  std::string packer;          // the kernel, of Kernels.def
  std::vector<int64_t> params; // its own, and those of the kernel that reads what it leaves
  int64_t form;
};

// The buffer that a kernel reads in a format of its own.
struct PackedOperand {
  unsigned number;
  int64_t form;
};

// Parameters of the kernel that `op` names, in the order of Kernels.def.
mlir::FailureOr<std::vector<int64_t>> encodeParams(mlir::Operation *op, std::optional<PackedOperand> packed);

// By the states' names. Nothing where the options name no sizer.
mlir::FailureOr<llvm::StringMap<PackedState>> findPackedStates(mlir::ModuleOp module, const PlanningOptions &options);

} // namespace cleave::plan

#endif

// The planning pipeline, and the options and callbacks that it gets from outside.
#ifndef CLEAVE_COMPILER_PLANNING_PIPELINE_H
#define CLEAVE_COMPILER_PLANNING_PIPELINE_H

#include "compiler/Planning/Draft/Prefetch.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <map>
#include <string>

namespace cleave::plan {

// Returns how many bytes of scratch a kernel of Kernels.def wants for these parameters. Called for kernels that have a
// buffer `scratch`.
using ScratchSizer =
    std::function<llvm::Expected<uint64_t>(llvm::StringRef kernel, llvm::ArrayRef<int64_t> params, int64_t threads)>;
// Returns how many bytes a kernel NAME_pack_B of Kernels.def needs for B, which it converts in place from the plain
// format to the library's; 0 if these formats are the same.
using PackedSizer =
    std::function<llvm::Expected<uint64_t>(llvm::StringRef packer, llvm::ArrayRef<int64_t> params, int64_t threads)>;
// Returns the number of iterations of a generated kernel's outermost loop. Reports kernels that cannot be compiled.
using KernelExtent = std::function<mlir::FailureOr<int64_t>(cleave::KernelOp)>;
// Gets a constant that code generation has left outside of kernels. The constant becomes a state, which is initialized
// by the weight of this name.
using ConstantSink = std::function<void(llvm::StringRef name, mlir::DenseElementsAttr value)>;

struct PlanningOptions {
  std::string target = "host";
  int64_t threads = 1;
  ScratchSizer scratch;   // null: kernels get no scratch
  PackedSizer packed;     // null: weights stay as they are
  KernelExtent extent;    // null: 1
  ConstantSink constants; // null: such constants are an error
  PrefetchOptions prefetch;
  bool offloadResiduals = false; // store in host memory the values that the forward pass leaves for the backward pass
  bool shareGathers = false;     // keep gathered parts from forward to backward (shard-grad-op)
  bool snapshot = false; // add a program that copies the state, for checkpoints that are written in the background
  // Shown by `cleave inspect`: the optimizer, the loss output, the options asked for.
  std::map<std::string, std::string> properties;
};

// Adds the passes from kernels form to plan form, without the proof. `plan-in-place` is not one of them: it runs before
// code generation names the kernels.
void addPlanning(mlir::OpPassManager &manager, const PlanningOptions &options);
// The same, and then the proof.
void buildPlanningPipeline(mlir::OpPassManager &manager, const PlanningOptions &options);

// Registers `planning-pipeline`; the passes are registered by registerPlanningPasses() of Passes.h.
void registerPlanningPipeline();

} // namespace cleave::plan

#endif

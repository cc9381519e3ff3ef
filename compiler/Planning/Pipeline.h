// The planning pipeline, and what it must be told from outside.
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

// Bytes of scratch that a kernel of Kernels.def wants for these parameters; asked for kernels that have a buffer
// `scratch`.
using ScratchSizer =
    std::function<llvm::Expected<uint64_t>(llvm::StringRef kernel, llvm::ArrayRef<int64_t> params, int64_t threads)>;
// Bytes that a kernel NAME_pack_B of Kernels.def needs for B, in the library's format and in the plain one; 0 where
// these are the same.
using PackedSizer =
    std::function<llvm::Expected<uint64_t>(llvm::StringRef packer, llvm::ArrayRef<int64_t> params, int64_t threads)>;
// Iterations of a generated kernel's outermost loop; diagnoses kernels that cannot be compiled.
using KernelExtent = std::function<mlir::FailureOr<int64_t>(cleave::KernelOp)>;
// Takes a constant that code generation left outside of kernels; it becomes a state that begins as the weight of that
// name.
using ConstantSink = std::function<void(llvm::StringRef name, mlir::DenseElementsAttr value)>;

struct PlanningOptions {
  std::string target = "host";
  int64_t threads = 1;
  ScratchSizer scratch;   // null: kernels get no scratch
  PackedSizer packed;     // null: weights stay as they are
  KernelExtent extent;    // null: 1
  ConstantSink constants; // null: such constants are an error
  PrefetchOptions prefetch;
  bool offloadResiduals = false; // store in host memory what the forward pass leaves for the backward pass
  bool shareGathers = false;     // keep gathered parts from forward to backward (shard-grad-op)
  bool snapshot = false;         // a program that copies the state, for checkpoints written in the background
  // Shown by `cleave inspect`: the optimizer, the loss output, the options asked for.
  std::map<std::string, std::string> properties;
};

// Kernels form to plan form, which nobody has proved yet. `plan-in-place` is not part of it: it stands before code
// generation names the kernels.
void addPlanning(mlir::OpPassManager &manager, const PlanningOptions &options);
// The same, and the proof.
void buildPlanningPipeline(mlir::OpPassManager &manager, const PlanningOptions &options);

// Registers `planning-pipeline`; the passes are registered by registerPlanningPasses() of Passes.h.
void registerPlanningPipeline();

} // namespace cleave::plan

#endif

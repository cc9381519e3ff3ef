// The linalg forms of a block's fusible ops. Each op is lowered once, on the forms of its operands. The form of a group
// is the forms of its ops together. This is what code generation will make of the kernel (Loops/KernelGraph.h), without
// building it for every group that is tried.
#ifndef CLEAVE_COMPILER_CODEGEN_FUSION_FORMEDOPS_H
#define CLEAVE_COMPILER_CODEGEN_FUSION_FORMEDOPS_H

#include "compiler/Codegen/Loops/IterationSpace.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"

namespace cleave {

class FormedOps {
public:
  explicit FormedOps(mlir::MLIRContext *context);

  // Adds an op. Ops must be added in program order.
  void add(mlir::Operation *op);
  // True if the group can be a kernel. `group` is in program order; `outputs` are its values that ops outside it read.
  bool haveSpace(llvm::ArrayRef<mlir::Operation *> group, llvm::ArrayRef<mlir::Value> outputs) const;

private:
  mlir::OwningOpRef<mlir::ModuleOp> module; // holds `forms`
  mlir::Block *block;
  mlir::IRMapping mapping;
  // Of ops that have a form. An op without a form stays alone, and form-kernels reports it.
  llvm::DenseMap<mlir::Operation *, std::vector<LoopNest>> nests;
};

} // namespace cleave

#endif

// The linalg forms of a block's fusible ops, each lowered once, on the forms of what it reads. A group's form is those of
// its ops put together: what code generation will make of the kernel (Loops/KernelGraph.h), without making it for every
// group that is tried.
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

  // Ops are added in program order.
  void add(mlir::Operation *op);
  // Whether the group can be a kernel. `group` is in program order; `outputs` are what something outside of it reads.
  bool haveSpace(llvm::ArrayRef<mlir::Operation *> group, llvm::ArrayRef<mlir::Value> outputs) const;

private:
  mlir::OwningOpRef<mlir::ModuleOp> module; // holds `forms`
  mlir::Block *block;
  mlir::IRMapping mapping;
  // Of ops that have a form; others are left alone, and then diagnosed.
  llvm::DenseMap<mlir::Operation *, std::vector<LoopNest>> nests;
};

} // namespace cleave

#endif

// A kernel's body as linalg on tensors, with the iteration space its ops share and a simplified view of every shape.
//
// The view drops dimensions of size 1 and joins neighbours that are always walked together: add of tensor<8x16x768xf32>
// values becomes one loop over 98304 elements, with a bias of 768 two loops of 128 and 768. Buffers are plain pointers,
// so a view costs nothing.
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_KERNELGRAPH_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_KERNELGRAPH_H

#include "compiler/Codegen/Loops/IterationSpace.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace cleave {

class KernelGraph {
public:
  // The graph where the kernel can be compiled. It cannot when its body has no common iteration space, or an op that
  // has no form (LinalgForm.h); `why` tells the reason. This is what form-kernels asks of every kernel that it makes.
  static std::optional<KernelGraph> tryBuild(KernelOp kernel, std::string &why);
  // The same, with a diagnostic at the kernel.
  static mlir::FailureOr<KernelGraph> build(KernelOp kernel);

  mlir::func::FuncOp getFunction() const { return function; }
  mlir::ValueRange getInputs() const { return getFunction().getArguments(); }
  mlir::ValueRange getResults() const { return getFunction().getBody().front().getTerminator()->getOperands(); }
  const IterationSpace &getSpace() const { return space; }
  llvm::ArrayRef<LoopNest> getNests() const { return nests; }
  llvm::ArrayRef<int64_t> getTies() const { return ties; }

  // The loops that remain: sizes and kinds, outermost first.
  llvm::ArrayRef<IterationSpace::Dim> getDims() const { return dims; }
  // Sizes of a value in the view.
  llvm::SmallVector<int64_t> shapeOf(mlir::Value value) const;
  // For each dimension of the view of `value` the loop that walks it, or IterationSpace::kOther.
  llvm::SmallVector<int> dimsOf(mlir::Value value) const;
  // Which dimensions of the value's own type lead a dimension of its view (a joined dimension is led by its first).
  llvm::SmallVector<unsigned> leadersOf(mlir::Value value) const;
  // The remaining loop that loop `position` of a linalg op became: IterationSpace::kUnit when it is gone (size 1, or
  // the inner part of a joined one), kOther when it is none of the space's.
  int loopOf(mlir::Operation *op, unsigned position) const;
  bool isFull(mlir::Value value) const { return space.isFull(value); }

private:
  mlir::LogicalResult lowerBody(KernelOp kernel, std::string &why);
  void joinDims();
  bool canJoin(int dim) const;
  bool readsIndex(int dim) const;

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  llvm::SmallVector<LoopNest> nests;
  llvm::SmallVector<int64_t> ties;
  IterationSpace space;
  llvm::SmallVector<IterationSpace::Dim> dims;
  // joined[d]: dimension d of the space is the inner part of its predecessor. newIndex[d]: its loop in `dims`.
  llvm::SmallVector<bool> joined;
  llvm::SmallVector<int> newIndex;
};

} // namespace cleave

#endif

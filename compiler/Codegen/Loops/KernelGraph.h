// A kernel's body as linalg on tensors, with the iteration space that its ops share, and a simplified view of every
// shape.
//
// The view drops dimensions of size 1, and joins neighbours that are always walked together. For example, an add of
// tensor<8x16x768xf32> values becomes one loop over 98304 elements, and with a bias of 768 two loops of 128 and 768.
// Buffers are plain pointers, so a view costs nothing.
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_KERNELGRAPH_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_KERNELGRAPH_H

#include "compiler/Codegen/Loops/IterationSpace.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace cleave {

class KernelGraph {
public:
  // Returns the graph if the kernel can be compiled. It cannot if its body has no common iteration space, or an op
  // without a form (LinalgForm.h); then `why` has the reason. form-kernels checks this for every kernel that it makes.
  static std::optional<KernelGraph> tryBuild(KernelOp kernel, std::string &why);
  // Returns the same. On failure, emits a diagnostic at the kernel.
  static mlir::FailureOr<KernelGraph> build(KernelOp kernel);

  mlir::func::FuncOp getFunction() const { return function; }
  mlir::ValueRange getInputs() const { return getFunction().getArguments(); }
  mlir::ValueRange getResults() const { return getFunction().getBody().front().getTerminator()->getOperands(); }
  const IterationSpace &getSpace() const { return space; }
  llvm::ArrayRef<LoopNest> getNests() const { return nests; }
  llvm::ArrayRef<int64_t> getTies() const { return ties; }

  // The remaining loops: sizes and kinds, outermost first.
  llvm::ArrayRef<IterationSpace::Dim> getDims() const { return dims; }
  // Returns the sizes of a value in the view.
  llvm::SmallVector<int64_t> shapeOf(mlir::Value value) const;
  // Returns for each dimension of the view of `value` the loop that walks it, or IterationSpace::kOther.
  llvm::SmallVector<int> dimsOf(mlir::Value value) const;
  // Returns the dimensions of the value's own type that lead a dimension of its view (the first one leads joined ones).
  llvm::SmallVector<unsigned> leadersOf(mlir::Value value) const;
  // Returns the remaining loop that loop `position` of a linalg op became. It is IterationSpace::kUnit if the loop is
  // gone (size 1, or the inner part of a joined one), and kOther if it is not a loop of the space.
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

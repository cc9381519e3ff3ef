// Emits single elements of a kernel's tensors, on demand. The element of a linalg op's result at an index is the op's
// body, applied to the operands' elements at the mapped indices, and so on down to loads of the kernel's inputs. This
// is all that fusion needs.
//
// Numbers narrower than f32 are loaded, computed and kept as f32. They are rounded when they are stored or cast. i1 is
// a byte (0 or 1) in memory.
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_ELEMENTEMITTER_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_ELEMENTEMITTER_H

#include "compiler/Codegen/Loops/KernelGraph.h"
#include "compiler/Codegen/Loops/Scopes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace cleave {

// The types in which elements of `type` are computed, and stored in memory.
mlir::Type computeType(mlir::Type type);
mlir::Type storageType(mlir::Type type);

class ElementEmitter {
public:
  using Indices = llvm::SmallVector<Element>;
  // Memory that holds a tensor. It is indexed by the current iteration of `dims`, less `origins` if there are any.
  struct Buffer {
    mlir::Value memref;
    mlir::Type elementType;
    llvm::SmallVector<int> dims;
    Indices origins;
  };

  ElementEmitter(const KernelGraph &graph, Scopes &scopes, mlir::ModuleOp module);

  // Returns the element of `tensor` at `indices` (one for each dimension of the view), or at the current iteration.
  Element pull(mlir::Value tensor, llvm::ArrayRef<Element> indices);
  Element pullCurrent(mlir::Value tensor) { return pull(tensor, currentIndices(tensor)); }
  // Returns the new accumulators of a reduction, from its operands at the current iteration and the old accumulators.
  llvm::SmallVector<Element> reduce(mlir::Operation *op, llvm::ArrayRef<Element> accumulators);
  // Returns the first value of an accumulator.
  Element pullInit(mlir::Operation *op, unsigned number);

  // Set the current index of a loop, and memory or a finished sum that is used for a tensor from now on.
  void setIndex(int dim, Element index) { loopIndices[dim] = index; }
  void setBuffer(mlir::Value tensor, Buffer buffer) { buffers[tensor] = std::move(buffer); }
  void setValue(mlir::Value tensor, Element element) { values[tensor] = element; }
  void setInput(mlir::Value argument, mlir::Value memref) { inputs[argument] = memref; }

  Element load(const Buffer &buffer);
  void store(const Buffer &buffer, Element element);
  Indices currentIndices(mlir::Value tensor);
  Element constantIndex(int64_t value);
  // Makes a constant in the type in which numbers of its type are computed.
  Element constant(mlir::TypedAttr value);
  // Makes an op, or its folded result.
  template <typename Op> Element binary(Element a, Element b) {
    unsigned depth = std::max(a.depth, b.depth);
    return {scopes.at(depth).createOrFold<Op>(location, a.value, b.value), depth};
  }
  // Sums and products of indices never overflow. If an index has fewer bits than an address, LLVM can merge
  // neighbouring accesses only with this flag. A reversed slice has negative terms, so callers without negative terms
  // may add nuw.
  using Overflow = mlir::arith::IntegerOverflowFlags;
  Element addIndices(Element a, Element b, Overflow flags = Overflow::nsw) {
    unsigned depth = std::max(a.depth, b.depth);
    return {scopes.at(depth).createOrFold<mlir::arith::AddIOp>(location, a.value, b.value, flags), depth};
  }
  Element multiplyIndices(Element a, Element b, Overflow flags = Overflow::nsw) {
    unsigned depth = std::max(a.depth, b.depth);
    return {scopes.at(depth).createOrFold<mlir::arith::MulIOp>(location, a.value, b.value, flags), depth};
  }
  mlir::Location getLocation() const { return location; }
  bool hasFailed() const { return failed; }

private:
  // A linalg body that is being evaluated: the indices of its loops, and the values that are known.
  struct Body {
    explicit Body(mlir::linalg::GenericOp op) : op(op) {}

    mlir::linalg::GenericOp op;
    Indices loops;
    llvm::DenseMap<mlir::Value, Element> known;
    llvm::DenseSet<mlir::Value> accumulated; // values that depend on an accumulator: may be reassociated
  };
  Element evaluate(mlir::Value value, Body &body);
  Element evaluateOp(mlir::Operation *op, unsigned result, Body &body);
  Element cloneOp(mlir::Operation *op, unsigned result, llvm::ArrayRef<Element> operands, bool accumulated);
  Element convertFloat(mlir::Operation *op, Element operand);
  Element rounded(Element operand, mlir::Type type);
  void relax(mlir::Operation *op, bool accumulated) const;
  bool hasCommonFactor(mlir::Value term) const;
  bool isSameForAllTerms(mlir::Value value) const;
  Element pullGeneric(mlir::linalg::GenericOp op, unsigned result, llvm::ArrayRef<Element> indices);
  Element pullConstant(mlir::Value tensor, mlir::DenseElementsAttr table, llvm::ArrayRef<Element> indices);
  Element pullInput(mlir::Value memref, mlir::Type elementType, llvm::ArrayRef<Element> indices);
  // Ops that move elements: slices, pads, concatenations, reshapes (MovedElements.cpp), at indices of the full type.
  Element pullMoved(mlir::Operation *op, llvm::ArrayRef<Element> full);
  Element pullSlice(mlir::tensor::ExtractSliceOp op, llvm::ArrayRef<Element> full);
  Element pullInserted(mlir::tensor::InsertSliceOp op, llvm::ArrayRef<Element> full);
  Element pullPadded(mlir::tensor::PadOp op, llvm::ArrayRef<Element> full);
  Element pullConcat(mlir::tensor::ConcatOp op, llvm::ArrayRef<Element> full);
  Element pullFull(mlir::Value tensor, llvm::ArrayRef<Element> full);
  Indices fullIndices(mlir::Value tensor, llvm::ArrayRef<Element> indices);
  Element isBetween(Element index, int64_t low, int64_t high, Element condition);
  Element clamp(Element index, int64_t low, int64_t high);
  Element select(Element condition, Element a, Element b);
  Element placeOf(const PickedSum &picked, Body &body);
  Element plusZero(Element element);
  Indices operandIndices(mlir::Operation *op, unsigned operand, Body &body);
  Element evaluateExpr(mlir::AffineExpr expr, llvm::ArrayRef<Element> loops);
  Element fail(mlir::Operation *op, llvm::Twine message);
  bool isCurrent(mlir::Value tensor, llvm::ArrayRef<Element> indices);

  const KernelGraph &graph;
  Scopes &scopes;
  mlir::ModuleOp module;
  mlir::Location location;
  llvm::DenseMap<mlir::Operation *, const LoopNest *> nests;
  Indices loopIndices;
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  llvm::DenseMap<mlir::Value, Element> values;
  llvm::DenseMap<mlir::Value, mlir::Value> inputs;
  std::map<int64_t, mlir::Value> indexConstants;
  bool failed = false;
};

} // namespace cleave

#endif

// Reading and writing the elements of a tensor that index components name: what GatherND, GatherElements, ScatterND and
// ScatterElements have in common.
//
// The first dimensions of the data have a component each; the others are walked along. For every point of the index
// space, the components name a position:
//
//   result[space..., rest...] = data[c0[space], c1[space], ..., rest...]
//
// A component that is a coordinate of the space is not indexed: its dimension is a batch, if the others vary with it,
// or else one that is walked along. So the rest is one linear index into few dimensions, cleave.pick and cleave.put
// along that, and transposes, which are none where the batch leads already.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_INDEXEDACCESS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_INDEXEDACCESS_H

#include "compiler/Import/ONNX/Operators/IndexComponents.h"

namespace cleave::onnx_import {

// Slices along `dim`.
Value take(Emitter &emit, Value table, Value indices, int64_t dim);
// The same at the indices of the same sample; the first `batch` dimensions belong to both.
Value pick(Emitter &emit, Value table, Value indices, int64_t dim, int64_t batch);

enum class Combine { Set, Add, Multiply, Max, Min };

class IndexedAccess {
public:
  IndexedAccess(OpContext &op, llvm::ArrayRef<int64_t> data, llvm::ArrayRef<int64_t> space,
                llvm::SmallVector<IndexComponent> components)
      : op(op), data(data), space(space), components(std::move(components)) {}

  // Fails where an index that is known is out of range. The others are checked when they are met.
  LogicalResult check();
  Value gather(Value from);
  // Of several updates of one element, in row-major order of the space, the last one comes last.
  Value scatter(Value into, Value updates, Combine combine);

private:
  void arrange(bool forScatter);
  Shape rowShape(llvm::ArrayRef<int64_t> shape) const;
  Value component(size_t dim);
  Value linearIndex();
  std::optional<int64_t> firstOfRun() const;
  int64_t indexCount() const;
  Value takeSlices(Value x);
  Value combined(Value into, Value updates, Combine combine);

  OpContext &op;
  Shape data, space;
  llvm::SmallVector<IndexComponent> components;

  // Dimensions of the data, by what becomes of them; and those of the space that the linear index has after the batch.
  Shape batch, outer, indexed, inner, indexDims;
  int64_t labelOf(int64_t dataDim) const; // of a walked dimension, in the result: space..., rest...
  Shape dataOrder() const;                // batch, outer, indexed, inner
  Shape sliceLabels() const;              // batch, outer, index, inner
};

} // namespace cleave::onnx_import

#endif

// Reads and writes the elements of a tensor that index components select. GatherND, GatherElements, ScatterND and
// ScatterElements share this code.
//
// The first dimensions of the data have one component each; the others are walked along. For every point of the index
// space, the components select a position:
//
//   result[space..., rest...] = data[c0[space], c1[space], ..., rest...]
//
// A component that is a coordinate of the space needs no index. Its dimension is a batch if the other components vary
// with it, otherwise it is walked along. The remaining components become one linear index into few dimensions. So the
// access is cleave.pick or cleave.put along these, with transposes, which are omitted if the batch comes first already.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_INDEXEDACCESS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_INDEXEDACCESS_H

#include "compiler/Import/ONNX/Operators/IndexComponents.h"

namespace cleave::onnx_import {

// Gathers slices along `dim`.
Value take(Emitter &emit, Value table, Value indices, int64_t dim);
// As take(), with separate indices for each sample: the first `batch` dimensions belong to the table and to the
// indices.
Value pick(Emitter &emit, Value table, Value indices, int64_t dim, int64_t batch);

enum class Combine { Set, Add, Multiply, Max, Min };

class IndexedAccess {
public:
  IndexedAccess(OpContext &op, llvm::ArrayRef<int64_t> data, llvm::ArrayRef<int64_t> space,
                llvm::SmallVector<IndexComponent> components)
      : op(op), data(data), space(space), components(std::move(components)) {}

  // Fails if a known index is out of range. The runtime checks the others.
  LogicalResult check();
  Value gather(Value from);
  // If several updates hit one element, they are applied in row-major order of the space.
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

  // The dimensions of the data, by their treatment. `indexDims` has the dimensions of the space that the linear index
  // has after the batch.
  Shape batch, outer, indexed, inner, indexDims;
  int64_t labelOf(int64_t dataDim) const; // position of a walked dimension in the result: space..., rest...
  Shape dataOrder() const;                // batch, outer, indexed, inner
  Shape sliceLabels() const;              // batch, outer, index, inner
};

} // namespace cleave::onnx_import

#endif

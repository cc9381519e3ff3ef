// Whether an op makes something of how long an operand is, where it is longer with a larger batch.
//
//   w[0:batch] -> tanh               no: the result is as much longer
//   w[0:batch] -> the last row       yes: the row is another one in another batch
//   x[batch, 3] -> sum over the batch   not asked here: whether samples are mixed is SampleDependence's question
#ifndef CLEAVE_COMPILER_DRIVER_LOSTGROWTH_H
#define CLEAVE_COMPILER_DRIVER_LOSTGROWTH_H

#include "compiler/Training/Loss/SampleDependence.h"

namespace cleave {

class LostGrowth {
public:
  explicit LostGrowth(mlir::func::FuncOp function) : samples(function), dims(function) {}

  // `op` is in the function, and `twin` the same op of the model with another batch. Whether a dimension of an operand
  // has another size in it, holds no samples, and does not go on as one of each result that has another size.
  bool losesGrowth(mlir::Operation *op, mlir::Operation *twin) const;

private:
  bool mayHoldSamples(mlir::Value value, size_t dim) const;

  SampleDependence samples;
  SampleDims dims;
};

} // namespace cleave

#endif

// Finds ops whose result depends on the length of an operand, if the operand is longer with a larger batch.
//
//   w[0:batch] -> tanh               no: the result grows by the same factor
//   w[0:batch] -> the last row       yes: another batch has another last row
//   x[batch, 3] -> sum over the batch   not tested here: SampleDependence says whether samples are mixed
#ifndef CLEAVE_COMPILER_DRIVER_MODEL_LENGTHDEPENDENCE_H
#define CLEAVE_COMPILER_DRIVER_MODEL_LENGTHDEPENDENCE_H

#include "compiler/Training/Loss/LossReduction.h"
#include "compiler/Training/Loss/SampleDependence.h"

namespace cleave {

class LengthDependence {
public:
  explicit LengthDependence(mlir::func::FuncOp function)
      : samples(function), dims(function), batch(batchOf(function)) {}

  // True if some dimension of an operand has another size in the twin and holds no samples, and does not correspond to
  // a dimension of each result that has another size, too. `op` must be in the function, and `twin` the same op of the
  // model with another batch.
  bool dependsOnLength(mlir::Operation *op, mlir::Operation *twin) const;

private:
  bool mayHoldSamples(mlir::Value value, size_t dim) const;

  SampleDependence samples;
  SampleDims dims;
  int64_t batch;
};

} // namespace cleave

#endif

// Finds the values whose samples are independent: every element is made of one sample alone, the one at its position in
// the sample dimension (SampleDims.h). Sums of such values add up over batches, however samples are distributed.
//
//   d = x @ w - y              each    the samples are a parallel loop of all three ops
//   p = softmax(d, dim 1)      each
//   p = softmax(d, dim 0)      mixed   the samples are a loop that is reduced
//   p = x * iota(dim 0)        mixed   the position in the batch is not a property of the sample
//   m = reduce_sum(d, [0])     mixed   all samples: the sum adds up, its square does not (LossTerms.h
//                                      follows sums)
//
// The answer comes from the ops' loops (ShardingInterface). IndexingOpInterface adds which elements an op reads if its
// loops do not say it. AlgebraOpInterface says whether an op draws random numbers, and whether it names the group of
// samples that it goes over. An op that names its group (batch normalization) does not count as mixing, unless
// `normalizationMixes` is set.
#ifndef CLEAVE_COMPILER_TRAINING_LOSS_SAMPLEDEPENDENCE_H
#define CLEAVE_COMPILER_TRAINING_LOSS_SAMPLEDEPENDENCE_H

#include "compiler/Training/Chunks/SampleDims.h"

#include "llvm/ADT/DenseMap.h"

#include <set>
#include <tuple>

namespace cleave {

enum class Dependence { None, Each, Mixed };

class SampleDependence {
public:
  explicit SampleDependence(mlir::func::FuncOp function, bool normalizationMixes = false);

  // Returns how the value depends on samples. It is also Mixed if it is not known whether the samples are independent.
  Dependence get(mlir::Value value) const;
  // Returns the position of the samples in the value's shape, or nothing if it is not known. If no input of the
  // function has a batch dimension, it is the first dimension.
  std::optional<SamplePosition> position(mlir::Value value) const;
  // True if elements of a value without samples differ along the dimension. Also true if the dimension has been cut,
  // joined or padded, unless all elements are known to be one number.
  bool variesAlong(mlir::Value value, int64_t dim) const;

private:
  Dependence visit(mlir::Operation *op, mlir::Value result) const;
  Dependence visitLoops(mlir::Operation *op, mlir::Value result) const;
  bool keepsSamples(mlir::Value from, mlir::Value to) const;
  // The values and places that have been asked about while one question is answered. If one of them is asked about
  // again, the answer is no.
  using Asked = std::set<std::tuple<const void *, int64_t, int64_t, int64_t>>;
  bool variesAt(mlir::Value value, SamplePosition places, Asked &asked) const;
  bool isMovedBy(mlir::Operation *op, llvm::ArrayRef<mlir::AffineMap> maps, mlir::AffineExpr loop, int64_t turns,
                 int64_t count, llvm::function_ref<bool(mlir::Value)> counts, Asked &asked) const;

  SampleDims dims;
  bool hasDims = false, normalizationMixes = false;
  llvm::DenseMap<mlir::Value, Dependence> known; // values with Each or Mixed
};

} // namespace cleave

#endif

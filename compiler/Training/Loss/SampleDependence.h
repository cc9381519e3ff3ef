// Which values have samples that do not know of one another: every element is made of one sample alone, the one at its
// place in the sample dimension (SampleDims.h). Sums of such values add up over batches, however samples are dealt out.
//
//   d = x @ w - y              each    the samples are a parallel loop of all three ops
//   p = softmax(d, dim 1)      each
//   p = softmax(d, dim 0)      mixed   the samples are a loop that is reduced
//   p = x * iota(dim 0)        mixed   the place in the batch is not the sample's own
//   m = reduce_sum(d, [0])     mixed   all samples: the sum adds up, its square does not (LossTerms.h
//                                  follows sums)
//
// Asked are the ops' loops (ShardingInterface), which elements they read where loops do not say it
// (IndexingOpInterface), and whether an op draws numbers or states itself over which samples it goes
// (AlgebraOpInterface). The latter, batch normalization, does not count as mixing, unless `normalizationMixes`.
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

  // Mixed also where nothing says that samples do not know of one another.
  Dependence get(mlir::Value value) const;
  // Where the samples lie; the first dimension in a function of which no input has a batch dimension. Nothing where
  // that is not known.
  std::optional<SamplePosition> position(mlir::Value value) const;
  // Whether a value that is made of no samples has other elements at other places of the dimension. True also where the
  // dimension has been cut, joined or padded, unless all elements are known to be one number.
  bool variesAlong(mlir::Value value, int64_t dim) const;

private:
  Dependence visit(mlir::Operation *op, mlir::Value result) const;
  Dependence visitLoops(mlir::Operation *op, mlir::Value result) const;
  bool keepsSamples(mlir::Value from, mlir::Value to) const;
  // Of values and places that one question has led to: what is asked again has had the answer no.
  using Asked = std::set<std::tuple<const void *, int64_t, int64_t, int64_t>>;
  bool variesAt(mlir::Value value, SamplePosition places, Asked &asked) const;
  bool isMovedBy(mlir::Operation *op, llvm::ArrayRef<mlir::AffineMap> maps, mlir::AffineExpr loop, int64_t turns,
                 int64_t count, llvm::function_ref<bool(mlir::Value)> counts, Asked &asked) const;

  SampleDims dims;
  bool hasDims = false, normalizationMixes = false;
  llvm::DenseMap<mlir::Value, Dependence> known; // but None
};

} // namespace cleave

#endif

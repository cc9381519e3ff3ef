// Finds where the samples of a batch are in every value of a function: the dimension that `cleave.batch_dim` has
// become.
//
//   x : 24x8 (dimension 0)  ->  transpose: 8x24 (1)  ->  reshape to 192: dimension 0, samples 1 apart, 8 times
//                           ->  reshape to 4x6x8: dimension 0, with a count of only 4 (rows of 6 samples)
//
// The position is followed from the arguments through the ops' indexing maps (ShardingInterface). From there it is
// followed back to values that are made of no samples, but are used element by element with samples: the random numbers
// and masks of a dropout. Nothing follows from a value that is made of constants alone, or from a dimension of copies:
// such a value may be used with samples in one place, and with weights of the same shape in another, because equal
// values are one value. A joined or cut dimension has no loop. There the position stays if whole runs of the samples are
// joined or cut:
//
//   concat of 8x24 and 8x24 to 16x24: dimension 0, which counts (2, 8 samples)  ->  slice of rows 8 to 15: 8 samples
//
// In a product with a weight, the samples are a loop that the weight does not have, so a
// dropout of weights has no samples.
#ifndef CLEAVE_COMPILER_TRAINING_CHUNKS_SAMPLEDIMS_H
#define CLEAVE_COMPILER_TRAINING_CHUNKS_SAMPLEDIMS_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace cleave {

// Dimension `dim` counts (outer, samples, inner). There are `count` samples, `inner` indices apart.
struct SamplePosition {
  int64_t dim = 0, inner = 1, count = 1;
};

// Returns the number of elements between two neighbours along dimension `dim`.
int64_t strideOf(llvm::ArrayRef<int64_t> shape, int64_t dim);

class SampleDims {
public:
  explicit SampleDims(mlir::func::FuncOp function);
  // The same from one value, as if it had samples at `position`, and from no argument.
  SampleDims(mlir::func::FuncOp function, mlir::Value value, SamplePosition position);

  // True if the value has samples, or is used with samples, even if it is not known in which dimension they are.
  bool reaches(mlir::Value value) const { return positions.contains(value); }
  std::optional<SamplePosition> get(mlir::Value value) const { return positions.lookup(value); }

private:
  // Finds the values that are made of constants alone (`fixed`), those that are made of states (`weighted`), and the
  // dimensions along which a value has copies (`repeated`).
  void findOrigins(mlir::Block &block);
  void noteRepeated(mlir::Operation *op);
  void follow(mlir::Block &block);
  bool visit(mlir::Operation *op);
  bool visitReshape(mlir::Value from, mlir::Value to);
  bool visitRuns(mlir::Operation *op, int64_t dim);
  bool visitLoops(mlir::Operation *op, llvm::ArrayRef<mlir::AffineMap> maps);
  bool note(mlir::Value value, std::optional<SamplePosition> position);
  bool noteLost(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, std::optional<SamplePosition>> positions;
  llvm::DenseSet<mlir::Value> fixed;                        // made of constants alone
  llvm::DenseSet<mlir::Value> weighted;                     // made of states, perhaps among others
  llvm::DenseSet<std::pair<mlir::Value, int64_t>> repeated; // dimensions along which a value has copies, or constants
};

} // namespace cleave

#endif

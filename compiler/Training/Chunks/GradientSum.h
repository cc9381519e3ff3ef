// Adds up the gradient of one value from the gradients of its uses.
//
// A use that slices the value gives the slice's gradient, padded with zeros to the value's shape. If these are added
// up, n slices cost n whole tensors: for the n steps of a recurrent layer, that is quadratic in the length of the
// sequence. So slices along one dimension that share no element are concatenated instead:
//
//   pad(g0, 0, 2) + pad(g1, 1, 1) + pad(g3, 2, 0)     becomes     concat(g0, g1, g3)
//
// The elements are the same, because each was a sum of itself and zeros.
#ifndef CLEAVE_COMPILER_TRAINING_CHUNKS_GRADIENTSUM_H
#define CLEAVE_COMPILER_TRAINING_CHUNKS_GRADIENTSUM_H

#include "dialects/Cleave/IR/Cleave.h"

#include <map>

namespace cleave {

class GradientSum {
public:
  // Adds the gradient of one use. Whole tensors are added at once, in the order of the calls.
  void add(mlir::OpBuilder &builder, mlir::Value gradient);
  // Returns the sum of all gradients so far, or null if there is none.
  mlir::Value total(mlir::OpBuilder &builder);

private:
  bool addPiece(PadOp pad);
  mlir::Value joinPieces(mlir::OpBuilder &builder);
  void addWhole(mlir::OpBuilder &builder, mlir::Value gradient);

  mlir::Value whole;
  // Pads along dimension `dim` alone. The key is the index at which the operand begins. No two overlap.
  std::map<int64_t, PadOp> pieces;
  int64_t dim = 0;
};

} // namespace cleave

#endif

// Dropout between softmax and the second product, as `form-attention` finds it, and the operands of cleave.attention
// for it.
//
//   if (auto dropout = AttentionDropout::find(value))               // select(uniform >= rate, p / (1 - rate), 0)
//     if (dropout->hasRowsInOrder(rows, columns))
//       auto operands = dropout->build(builder, batch, heads);
#ifndef CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_ATTENTIONDROPOUT_H
#define CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_ATTENTIONDROPOUT_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <optional>

namespace cleave {

struct AttentionDropout {
  mlir::Value probabilities; // before dropout
  RandomUniformOp uniform;   // of as many elements, perhaps in another shape
  double rate;

  // Returns nothing if `value` is not made by dropout, or has other uses.
  static std::optional<AttentionDropout> find(mlir::Value value);

  // True if the numbers of a head with this many rows and columns are contiguous in the whole tensor, too. Then one
  // index for each head identifies them.
  bool hasRowsInOrder(int64_t rows, int64_t columns) const { return leadingDims(rows * columns).has_value(); }

  struct Operands {
    mlir::Value seed, stream, first;
  };
  Operands build(mlir::ImplicitLocOpBuilder &builder, int64_t batch, int64_t heads) const;

private:
  // Returns how many of the numbers' dimensions count heads of `count` elements.
  std::optional<int64_t> leadingDims(int64_t count) const;
};

} // namespace cleave

#endif

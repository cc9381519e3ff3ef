// The masks between a product and softmax, as `form-attention` finds them, and what cleave.attention takes of them.
//
//   AttentionMasks masks;
//   masks.keep(condition, /*keeps=*/true, fill);       // select(condition, scores, fill)
//   masks.add(bias);                                    // scores + bias
//   if (auto mask = masks.classify(shape))              // nothing: attention has no such mask
//     Value operand = mask->build(builder, f32);        // null: none but perhaps the causal one
#ifndef CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_ATTENTIONMASKS_H
#define CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_ATTENTIONMASKS_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <optional>

namespace cleave {

// The number that a constant is everywhere.
std::optional<double> splatNumber(mlir::Value value);

// Masks of one kind, joined, and the causal one apart.
struct AttentionMask {
  struct Part {
    mlir::Value value; // of the scores' shape
    bool keeps;        // of booleans: whether true keeps the score
  };
  bool isCausal = false;
  std::optional<double> fill; // the parts are booleans
  llvm::SmallVector<Part> parts;

  // The operand of cleave.attention, of rank 4, as small as the parts are before they are repeated. `computed` is the
  // type of masks that are added.
  mlir::Value build(mlir::ImplicitLocOpBuilder &builder, mlir::Type computed) const;
};

// They are told from the innermost to the outermost, that is from the product to softmax.
class AttentionMasks {
public:
  void add(mlir::Value mask) { added.push_back({mask, numMasks++}); }
  void keep(mlir::Value condition, bool keeps, double fill) { kept.push_back({condition, keeps, fill, numMasks++}); }

  // Nothing where masks of both kinds or with different fills meet, one is computed of a parameter, or a select of a
  // finite number stands outside of the causal mask, which attention applies last.
  std::optional<AttentionMask> classify(llvm::ArrayRef<int64_t> scores) const;

private:
  struct Kept {
    mlir::Value condition;
    bool keeps;
    double fill;
    int place; // 0: the innermost
  };
  struct Added {
    mlir::Value value;
    int place;
  };
  int numMasks = 0;
  llvm::SmallVector<Added> added;
  llvm::SmallVector<Kept> kept;
};

} // namespace cleave

#endif

// The masks between a product and softmax, as `form-attention` finds them, and the operands of cleave.attention for
// them.
//
//   AttentionMasks masks;
//   masks.keep(condition, /*keeps=*/true, fill);       // select(condition, scores, fill)
//   masks.add(bias);                                    // scores + bias
//   if (auto mask = masks.classify(shape))              // nothing: attention has no such mask
//     Value operand = mask->build(builder, f32);        // null: there is at most a causal mask
#ifndef CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_ATTENTIONMASKS_H
#define CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_ATTENTIONMASKS_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <optional>

namespace cleave {

// Returns the number of a constant whose elements are all equal.
std::optional<double> splatNumber(mlir::Value value);

// Masks of one kind, joined, and separately the causal one.
struct AttentionMask {
  struct Part {
    mlir::Value value; // has the scores' shape
    bool keeps;        // for booleans: true if true keeps the score
  };
  bool isCausal = false;
  std::optional<double> fill; // only if the parts are booleans
  llvm::SmallVector<Part> parts;

  // Returns the operand of cleave.attention, of rank 4, with the sizes that the parts have before they are repeated.
  // `computed` is the type of masks that are added.
  mlir::Value build(mlir::ImplicitLocOpBuilder &builder, mlir::Type computed) const;
};

// Collects masks. They must be given from the innermost to the outermost, that is, from the product to softmax.
class AttentionMasks {
public:
  void add(mlir::Value mask) { added.push_back({mask, numMasks++}); }
  void keep(mlir::Value condition, bool keeps, double fill) { kept.push_back({condition, keeps, fill, numMasks++}); }

  // Returns nothing if there are masks of both kinds or with different fills, if one is computed from a parameter, or
  // if a select of a finite number is outside of the causal mask, which attention applies last.
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

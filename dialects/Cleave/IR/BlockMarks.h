// `cleave.block = N : i64` says that an op, a kernel or a parameter's state belongs to the N-th repeated block of the
// model (compiler/Training/Residuals/Blocks.h). It is a mark and has no semantics. Passes that copy ops copy it. Passes
// that build new ops may lose it; then recomputation keeps more than necessary.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_BLOCKMARKS_H
#define CLEAVE_DIALECTS_CLEAVE_IR_BLOCKMARKS_H

#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace cleave {

inline std::optional<int64_t> getBlockMark(mlir::Operation *op) {
  auto mark = op->getAttrOfType<mlir::IntegerAttr>(kBlockAttr);
  return mark ? std::optional(mark.getInt()) : std::nullopt;
}

inline void setBlockMark(mlir::Operation *op, std::optional<int64_t> block) {
  if (block)
    op->setAttr(kBlockAttr, mlir::IntegerAttr::get(mlir::IntegerType::get(op->getContext(), 64), *block));
  else
    op->removeAttr(kBlockAttr);
}

} // namespace cleave

#endif

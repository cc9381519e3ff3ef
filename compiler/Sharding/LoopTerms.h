// How an indexing map walks a dimension: as a sum of loop * stride. Reshapes of several dimensions into one have this
// form.
#ifndef CLEAVE_COMPILER_SHARDING_LOOPTERMS_H
#define CLEAVE_COMPILER_SHARDING_LOOPTERMS_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <functional>
#include <utility>

namespace cleave {

// Adds the (stride, loop) pairs of `expr` to `terms`. Returns false if `expr` is not a sum of loop * stride.
inline bool collectTerms(mlir::AffineExpr expr, llvm::SmallVectorImpl<std::pair<int64_t, int64_t>> &terms) {
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr)) {
    terms.push_back({1, dim.getPosition()});
    return true;
  }
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (binary.getKind() == mlir::AffineExprKind::Add)
    return collectTerms(binary.getLHS(), terms) && collectTerms(binary.getRHS(), terms);
  auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(binary.getLHS());
  auto stride = llvm::dyn_cast<mlir::AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() != mlir::AffineExprKind::Mul || !dim || !stride || stride.getValue() < 1)
    return false;
  terms.push_back({stride.getValue(), dim.getPosition()});
  return true;
}

// Returns the loops that walk a dimension of `size`, the slowest first: d0 * 4 + d1 over 64 gives {16, d0}, {4, d1}.
// Empty if they do not walk it exactly once, one loop inside the other. `Factors` is a vector of {size, loop}.
template <typename Factors> Factors factorsOf(mlir::AffineExpr expr, int64_t size) {
  llvm::SmallVector<std::pair<int64_t, int64_t>> terms;
  if (!collectTerms(expr, terms))
    return {};
  llvm::sort(terms, std::greater<>());
  Factors factors;
  for (auto [stride, loop] : terms) {
    if (size % stride != 0)
      return {};
    factors.push_back({size / stride, loop});
    size = stride;
  }
  return size == 1 ? factors : Factors();
}

} // namespace cleave

#endif

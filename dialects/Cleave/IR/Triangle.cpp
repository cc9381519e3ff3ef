#include "dialects/Cleave/IR/Triangle.h"

#include "mlir/IR/Builders.h"

#include <limits>

mlir::Attribute cleave::triangleOf(mlir::RankedTensorType type, llvm::function_ref<double(int64_t)> element) {
  mlir::Builder builder(type.getContext());
  int64_t count = type.getNumElements(), columns = type.getRank() < 2 ? 0 : type.getShape().back();
  if (columns == 0 || count == 0 || count != columns * type.getDimSize(type.getRank() - 2))
    return {};
  auto isUpTo = [&](int64_t at) { return at % columns <= at / columns; };
  if (type.getElementType().isInteger(1)) {
    bool first = element(0) != 0; // column 0 of row 0
    for (int64_t at = 1; at < count; ++at)
      if ((element(at) != 0) != (isUpTo(at) == first))
        return {};
    return builder.getBoolAttr(first);
  }
  if (!llvm::isa<mlir::FloatType>(type.getElementType()))
    return {};
  double lower = element(0), upper = columns > 1 ? element(1) : 0, most = -std::numeric_limits<double>::infinity();
  bool isAdded = true, hasTwo = true;
  for (int64_t at = 0; at < count && (isAdded || hasTwo); ++at) {
    double number = element(at);
    isAdded &= isUpTo(at) ? number == 0 : leavesNothing(number);
    hasTwo &= number == (isUpTo(at) ? lower : upper);
    if (!isUpTo(at))
      most = std::max(most, number);
  }
  if (isAdded)
    return builder.getF64FloatAttr(most);
  return hasTwo ? builder.getDenseF64ArrayAttr({lower, upper}) : mlir::Attribute();
}

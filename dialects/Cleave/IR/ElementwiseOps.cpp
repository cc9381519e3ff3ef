// The result types of those elementwise ops whose traits do not determine them.
#include "dialects/Cleave/IR/Cleave.h"

using namespace cleave;

#define CLEAVE_INFER_ARGUMENTS                                                                                         \
  mlir::MLIRContext *context, std::optional<mlir::Location> location, mlir::ValueRange operands,                       \
      mlir::DictionaryAttr attributes, mlir::OpaqueProperties properties, mlir::RegionRange regions,                   \
      llvm::SmallVectorImpl<mlir::Type> &results

mlir::LogicalResult CompareOp::inferReturnTypes(CLEAVE_INFER_ARGUMENTS) {
  auto type = llvm::cast<mlir::RankedTensorType>(operands[0].getType());
  results.push_back(type.clone(mlir::IntegerType::get(context, 1)));
  return mlir::success();
}
#undef CLEAVE_INFER_ARGUMENTS

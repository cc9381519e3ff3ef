#include "compiler/Driver/SampleChecks.h"

#include "compiler/Training/Loss/SampleDependence.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace cleave;

std::map<std::string, std::string> cleave::mixedOutputs(mlir::ModuleOp module) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>("model");
  std::map<std::string, std::string> mixed;
  if (!function || !function.getBody().hasOneBlock())
    return mixed;
  SampleDependence samples(function, /*normalizationMixes=*/true);
  for (mlir::OpOperand &output : function.getBody().front().getTerminator()->getOpOperands()) {
    auto name = function.getResultAttrOfType<mlir::StringAttr>(output.getOperandNumber(), kNameAttr);
    if (name && function.getResultAttr(output.getOperandNumber(), kBatchDimAttr) && samples.mixes(output.get()))
      mixed["mixes." + name.getValue().str()] = "samples";
  }
  return mixed;
}

// The view [groups, n / groups, c, area] that is normalized over dimensions 1 and 3, or null.
static ReshapeOp groupedView(NormalizeOp normalize, int64_t groups) {
  auto view = normalize.getOperand().getDefiningOp<ReshapeOp>();
  llvm::ArrayRef<int64_t> shape = mlir::cast<mlir::RankedTensorType>(normalize.getOperand().getType()).getShape();
  bool isGrouped = shape.size() == 4 && shape[0] == groups && normalize.getDims() == llvm::ArrayRef<int64_t>{1, 3};
  return isGrouped ? view : ReshapeOp();
}

llvm::Error cleave::checkBatchNormGroups(mlir::ModuleOp module, int64_t groups) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>("model");
  if (groups <= 1 || !function || !function.getBody().hasOneBlock())
    return llvm::Error::success();
  SampleDims dims(function);
  for (auto normalize : function.getBody().front().getOps<NormalizeOp>()) {
    ReshapeOp view = groupedView(normalize, groups);
    if (!view)
      continue;
    auto at = dims.get(view.getOperand());
    int64_t size = mlir::cast<mlir::RankedTensorType>(view.getOperand().getType()).getDimSize(0);
    if (at && at->dim == 0 && at->count * at->inner == size)
      continue;
    auto node = mlir::dyn_cast<mlir::NameLoc>(normalize.getLoc());
    return makeError((node ? node.getName().str() : "a BatchNormalization") +
                     ": with --batch-norm local each rank takes the statistics of its own samples, and " +
                     (at ? "they do not lie outermost in dimension 0 of the input"
                         : "where they lie in the input is not known") +
                     "; use --batch-norm sync, or put the batch first");
  }
  return llvm::Error::success();
}

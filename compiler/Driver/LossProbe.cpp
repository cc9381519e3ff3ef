#include "compiler/Driver/LossProbe.h"

#include "compiler/Training/LossScaling.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace cleave;

static std::optional<unsigned> lossOf(mlir::func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, "cleave.loss"))
      return i;
  return std::nullopt;
}

static mlir::Value resultOf(mlir::func::FuncOp function, unsigned index) {
  return function.getBody().front().getTerminator()->getOperand(index);
}

void cleave::noteLossScaling(mlir::ModuleOp module, llvm::StringRef path, const ImportOptions &options) {
  ImportOptions doubled = options;
  doubled.dataRanks *= 2; // multiplies every batch dimension
  auto twice = importONNX(*module.getContext(), path, doubled);
  if (!twice) {
    llvm::consumeError(twice.takeError());
    return;
  }
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    auto other = twice->module->lookupSymbol<mlir::func::FuncOp>(function.getSymName());
    std::optional<unsigned> index = lossOf(function);
    if (!index || !other || lossOf(other) != index)
      continue;
    auto scaling = compareScaling(termsOf(resultOf(function, *index)), termsOf(resultOf(other, *index)));
    if (scaling)
      function.setResultAttr(*index, "cleave.loss_scaling",
                             mlir::StringAttr::get(module.getContext(), lossScalingName(*scaling)));
  }
}

#include "compiler/Driver/Model/BatchedModel.h"

using namespace cleave;

mlir::func::FuncOp cleave::modelFunction(mlir::ModuleOp module) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>("model");
  return function && function.getBody().hasOneBlock() ? function : mlir::func::FuncOp();
}

llvm::Expected<ImportedModel> cleave::importLarger(const ImportedModel &model, const ImportOptions &options,
                                                   int64_t factor) {
  ImportOptions larger = options;
  larger.dataRanks *= factor; // multiplies every batch dimension
  return importAgain(*(*model.module).getContext(), model, larger);
}

#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"

#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/StopGradient.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_BUILDINFERENCE
#include "compiler/Training/Passes.h.inc"

namespace {
class BuildInferencePass : public impl::BuildInferenceBase<BuildInferencePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp model = lookupFunction(module, "model");
    if (!model) {
      module.emitError("expected a function @model; import makes it");
      return signalPassFailure();
    }
    if (func::FuncOp evaluation = lookupFunction(module, "model.eval")) {
      model.erase();
      model = evaluation;
    }
    for (WriteOp write : llvm::make_early_inc_range(model.getBody().front().getOps<WriteOp>()))
      write.erase();
    eraseStopGradients(model);
    mergeReads(model);
    model.setName("infer");
    MLIRContext *context = &getContext();
    module->setAttr(kLevelAttr, StringAttr::get(context, "step"));
    module->setAttr(kMicroBatchesAttr, IntegerAttr::get(IntegerType::get(context, 64), 1));
  }
};
} // namespace
} // namespace cleave

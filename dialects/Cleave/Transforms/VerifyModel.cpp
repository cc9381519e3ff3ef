#include "dialects/Cleave/Transforms/LevelChecks.h"
#include "dialects/Cleave/Transforms/Passes.h"

namespace cleave {
#define GEN_PASS_DEF_VERIFYMODEL
#include "dialects/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

using namespace cleave;
using llvm::LogicalResult;
using mlir::func::FuncOp;

// There must be one function, @model, and for training its evaluation form @model.eval. Their arguments and results
// have names.
static LogicalResult checkModelFunction(mlir::ModuleOp module) {
  bool failed = false, found = false;
  for (FuncOp function : module.getOps<FuncOp>()) {
    if (function.getName() != "model" && function.getName() != "model.eval") {
      function.emitOpError("does not belong to the model level, which has @model and @model.eval only; got: @")
          << function.getName();
      failed = true;
      continue;
    }
    found |= function.getName() == "model";
    failed |= mlir::failed(checkPorts(function)) || mlir::failed(checkAllNamed(function));
  }
  if (!found)
    return module.emitError("expects a function @model; got: none");
  return mlir::failure(failed);
}

// States are those of the model file: no gradients, no optimizer, no coordinates; one tensor each.
static LogicalResult checkModelStates(mlir::ModuleOp module) {
  bool failed = false;
  for (StateOp state : module.getOps<StateOp>()) {
    Role role = state.getRole();
    if (role != Role::Parameter && role != Role::Buffer && role != Role::Constant && role != Role::Scalar) {
      state.emitOpError("expects role parameter, buffer, constant or scalar at the model level; got: ")
          << stringifyRole(role);
      failed = true;
    }
    if (state.getSegments().size() != 1) {
      state.emitOpError("expects one segment at the model level; buckets are formed later; got: ")
          << state.getSegments().size();
      failed = true;
    }
  }
  return mlir::failure(failed);
}

namespace {
struct VerifyModel : impl::VerifyModelBase<VerifyModel> {
  void runOnOperation() override {
    LogicalResult (*rules[])(mlir::ModuleOp) = {checkModelFunction, checkModelStates, checkFunctions, checkUnsharded,
                                                checkStateAccess};
    bool failed = mlir::failed(checkLevel(getOperation(), "model"));
    failed |= mlir::failed(checkAttributes(getOperation(), Level::Model));
    for (auto rule : rules)
      failed |= mlir::failed(rule(getOperation()));
    if (failed)
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace

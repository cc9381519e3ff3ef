#include "dialects/Cleave/IR/StepFunctions.h"
#include "dialects/Cleave/Transforms/LevelChecks.h"
#include "dialects/Cleave/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"

namespace cleave {
#define GEN_PASS_DEF_VERIFYSTEP
#include "dialects/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

using namespace cleave;
using llvm::LogicalResult;
using llvm::StringRef;
using mlir::func::FuncOp;

// "c0.fwd" for suffix ".fwd"; empty where `name` is not a chunk's function of that kind.
static StringRef chunkOf(StringRef name, StringRef suffix) {
  StringRef chunk = name;
  if (!chunk.consume_back(suffix) || !chunk.starts_with("c") || chunk.size() < 2 ||
      !llvm::all_of(chunk.drop_front(), llvm::isDigit))
    return {};
  return chunk;
}

static LogicalResult checkMicroBatches(mlir::ModuleOp module) {
  auto count = module->getAttrOfType<mlir::IntegerAttr>("cleave.micro_batches");
  if (count && count.getInt() >= 1)
    return mlir::success();
  auto error = module.emitError("expects cleave.micro_batches of at least 1; got: ");
  return count ? error << count.getInt() : error << "none";
}

// A backward pass says of which function, and nothing else does.
static LogicalResult checkBackward(FuncOp function, bool isNamedBackward) {
  if (isNamedBackward != isBackward(function))
    return function.emitOpError("expects cleave.backward_of exactly on backward passes; got: ")
           << (isNamedBackward ? "none on @" : "it on @") << function.getName();
  FuncOp forward = forwardOf(function);
  if (isNamedBackward && (!forward || isBackward(forward)))
    return function.emitOpError("expects cleave.backward_of to name a forward function; got: ")
           << function->getAttr(kBackwardOfAttr);
  return mlir::success();
}

// Inference has @infer; training has @update, and @cN.fwd with @cN.bwd for every chunk.
static LogicalResult checkFunctionSet(mlir::ModuleOp module) {
  bool failed = false, chunks = false;
  for (FuncOp function : module.getOps<FuncOp>()) {
    StringRef name = function.getName();
    name.consume_back(".first"); // the first micro-batch's variant
    failed |= mlir::failed(checkPorts(function));
    StringRef forward = chunkOf(name, ".fwd"), backward = chunkOf(name, ".bwd");
    StringRef chunk = forward.empty() ? backward : forward;
    failed |= mlir::failed(checkBackward(function, !backward.empty()));
    if (!chunk.empty()) {
      chunks = true;
      std::string other = (chunk + (forward.empty() ? ".fwd" : ".bwd")).str();
      if (!module.lookupSymbol<FuncOp>(other)) {
        function.emitOpError("expects its counterpart @") << other << "; got: none";
        failed = true;
      }
    } else if (name != "infer" && name != "update" && name != "evaluate") {
      function.emitOpError("expects one of @infer, @cN.fwd, @cN.bwd, @update, @evaluate; got: @") << name;
      failed = true;
    }
  }
  bool infer = module.lookupSymbol<FuncOp>("infer"), update = module.lookupSymbol<FuncOp>("update");
  if (!infer && !chunks)
    return module.emitError("expects @infer, or @c0.fwd and @c0.bwd; got: neither");
  if (chunks && !update)
    return module.emitError("expects @update beside the chunks of a training step; got: none");
  return mlir::failure(failed);
}

// Every argument of a backward pass says what it is: a result of its forward function, of its type, or a named input.
static LogicalResult checkResiduals(mlir::ModuleOp module) {
  bool failed = false;
  for (FuncOp backward : module.getOps<FuncOp>()) {
    FuncOp forward = forwardOf(backward);
    if (!forward)
      continue;
    for (auto [index, type] : llvm::enumerate(backward.getArgumentTypes())) {
      auto residual = backward.getArgAttrOfType<mlir::IntegerAttr>(index, "cleave.residual");
      bool named = static_cast<bool>(backward.getArgAttr(index, "cleave.name"));
      if (static_cast<bool>(residual) == named) {
        backward.emitOpError("expects either cleave.residual or cleave.name on every argument; got: ")
            << (named ? "both" : "neither") << " on argument " << index;
        failed = true;
      }
      if (!residual)
        continue;
      int64_t result = residual.getInt();
      if (result < 0 || result >= forward.getNumResults()) {
        backward.emitOpError("expects a result of @")
            << forward.getName() << " as cleave.residual of argument " << index << "; got: " << result << " of "
            << forward.getNumResults();
        failed = true;
      } else if (forward.getResultTypes()[result] != type) {
        backward.emitOpError("expects argument ") << index << " to have the type of the residual it names, "
                                                  << forward.getResultTypes()[result] << "; got: " << type;
        failed = true;
      }
    }
  }
  return mlir::failure(failed);
}

// The scalar block: host and device find its members by name and agree on their types.
static LogicalResult checkScalars(mlir::ModuleOp module) {
  bool failed = false;
  for (StateOp state : module.getOps<StateOp>()) {
    bool named = state.getSymName().starts_with("scalar.");
    if (named != (state.getRole() == Role::Scalar)) {
      state.emitOpError("expects role scalar exactly for names that begin with \"scalar.\"; got: ")
          << stringifyRole(state.getRole());
      failed = true;
    }
    if (!named)
      continue;
    auto *context = module.getContext();
    bool counts = llvm::is_contained({"scalar.step", "scalar.seed", "scalar.micro"}, state.getSymName());
    mlir::Type element = counts ? mlir::Type(mlir::IntegerType::get(context, 64)) : mlir::Float32Type::get(context);
    auto expected = mlir::RankedTensorType::get({}, element);
    if (state.getTensorType() != expected) {
      state.emitOpError("expects type ") << expected << "; got: " << state.getTensorType();
      failed = true;
    }
  }
  return mlir::failure(failed);
}

namespace {
struct VerifyStep : impl::VerifyStepBase<VerifyStep> {
  void runOnOperation() override {
    LogicalResult (*rules[])(mlir::ModuleOp) = {checkMicroBatches, checkFunctionSet, checkResiduals,  checkScalars,
                                                checkFunctions,    checkUnsharded,   checkStateAccess};
    bool failed = mlir::failed(checkLevel(getOperation(), "step"));
    for (auto rule : rules)
      failed |= mlir::failed(rule(getOperation()));
    if (failed)
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace

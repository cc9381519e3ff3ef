#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/StepFunctions.h"
#include "dialects/Cleave/Transforms/LevelChecks.h"
#include "dialects/Cleave/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"
#include "runtime/plan/ScalarNames.h"

namespace cleave {
#define GEN_PASS_DEF_VERIFYSTEP
#include "dialects/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

using namespace cleave;
using llvm::LogicalResult;
using llvm::StringRef;
using mlir::func::FuncOp;

// The halves of a chunk: "c0.bwd" or, split, "c0.bwd_x" and "c0.bwd_w".
static constexpr StringRef kForward = ".fwd", kBackward = ".bwd", kInputs = ".bwd_x", kWeights = ".bwd_w";

// Returns "c0" of "c0.fwd" for suffix ".fwd"; empty if `name` is not a chunk's function of that kind.
static StringRef chunkOf(StringRef name, StringRef suffix) {
  StringRef chunk = name;
  return chunk.consume_back(suffix) && !chunk.contains('.') && chunkNumber(chunk) ? chunk : StringRef();
}

static LogicalResult checkMicroBatches(mlir::ModuleOp module) {
  auto count = module->getAttrOfType<mlir::IntegerAttr>(kMicroBatchesAttr);
  if (count && count.getInt() >= 1)
    return mlir::success();
  auto error = module.emitError("expects cleave.micro_batches of at least 1; got: ");
  return count ? error << count.getInt() : error << "none";
}

// Every backward pass names its forward function, and no other function names one.
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
    StringRef forward = chunkOf(name, kForward), chunk = forward, half = kForward;
    for (StringRef backward : {kBackward, kInputs, kWeights})
      if (StringRef found = chunkOf(name, backward); !found.empty())
        chunk = found, half = backward;
    failed |= mlir::failed(checkBackward(function, !chunk.empty() && forward.empty()));
    if (!chunk.empty()) {
      chunks = true;
      auto has = [&](StringRef other) { return module.lookupSymbol<FuncOp>((chunk + other).str()) != nullptr; };
      StringRef expected = half == kForward   ? kBackward
                           : half == kInputs  ? kWeights
                           : half == kWeights ? kInputs
                                              : kForward;
      if (!has(expected) && !(half == kForward && has(kInputs))) {
        function.emitOpError("expects its counterpart @") << chunk << expected << "; got: none";
        failed = true;
      }
    } else if (name != "infer" && name != "update" && name != "evaluate") {
      function.emitOpError(
          "expects one of @infer, @cN.fwd, @cN.bwd (or @cN.bwd_x and @cN.bwd_w), @update, @evaluate; got: @")
          << name;
      failed = true;
    }
  }
  bool infer = module.lookupSymbol<FuncOp>("infer"), update = module.lookupSymbol<FuncOp>("update");
  if (!infer && !chunks)
    return module.emitError("expects @infer, or @c0.fwd and @c0.bwd; got: neither");
  if (chunks && !update)
    return module.emitError("expects @update in addition to the chunks of a training step; got: none");
  return mlir::failure(failed);
}

// Every argument of a backward pass must be declared: as a result of its forward function, with the same type, as a
// named input, or as an edge.
static LogicalResult checkResiduals(mlir::ModuleOp module) {
  bool failed = false;
  for (FuncOp backward : module.getOps<FuncOp>()) {
    FuncOp forward = forwardOf(backward);
    if (!forward)
      continue;
    for (auto [index, type] : llvm::enumerate(backward.getArgumentTypes())) {
      auto residual = backward.getArgAttrOfType<mlir::IntegerAttr>(index, kResidualAttr);
      bool named = backward.getArgAttr(index, kNameAttr) || backward.getArgAttr(index, kEdgeAttr);
      if (static_cast<bool>(residual) == named) {
        backward.emitOpError("expects either cleave.residual or cleave.name (or cleave.edge) on every argument; got: ")
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

// An edge has one maker among the functions of a micro-batch, with its users' type. The maker runs before the users:
// forward from chunk to later chunk, backward from chunk to earlier chunk. An edge has a user: otherwise a stage would be
// sent a value that it never takes.
static LogicalResult checkEdges(mlir::ModuleOp module) {
  bool failed = false;
  llvm::DenseMap<FuncOp, unsigned> order;
  llvm::StringMap<unsigned> makers, users;
  auto inVariant = [](FuncOp function, StringRef edge) { return (variantOf(function.getName()) + " " + edge).str(); };
  for (FuncOp function : module.getOps<FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      ++users[inVariant(function, edgeOfArgument(function, i))];
  for (FuncOp function : inStepOrder(module)) {
    order[function] = order.size();
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      StringRef edge = edgeOfResult(function, i);
      if (edge.empty())
        continue;
      if (++makers[inVariant(function, edge)] == 2) {
        function.emitOpError("expects one maker of edge \"") << edge << "\"; got: another function that returns it";
        failed = true;
      }
      if (!users.contains(inVariant(function, edge))) {
        function.emitOpError("expects a function that takes edge \"") << edge << "\"; got: none";
        failed = true;
      }
    }
  }
  for (FuncOp function : module.getOps<FuncOp>())
    for (mlir::BlockArgument argument : function.getArguments()) {
      StringRef edge = edgeOfArgument(function, argument.getArgNumber());
      if (edge.empty())
        continue;
      mlir::OpOperand *source = sourceOf(argument);
      FuncOp maker = source ? source->getOwner()->getParentOfType<FuncOp>() : FuncOp();
      if (!maker || source->get().getType() != argument.getType() || order.lookup(maker) >= order.lookup(function)) {
        function.emitOpError("expects edge \"")
            << edge << "\" to be the result, of type " << argument.getType()
            << ", of a function that runs before; got: " << (maker ? maker.getName() : StringRef("none"));
        failed = true;
      }
    }
  return mlir::failure(failed);
}

// The scalar states: host and device find them by name, and must agree on their types.
static LogicalResult checkScalars(mlir::ModuleOp module) {
  bool failed = false;
  for (StateOp state : module.getOps<StateOp>()) {
    bool named = state.getSymName().starts_with(rt::kScalarPrefix);
    if (named != (state.getRole() == Role::Scalar)) {
      state.emitOpError("expects role scalar exactly for names that begin with \"scalar.\"; got: ")
          << stringifyRole(state.getRole());
      failed = true;
    }
    if (!named)
      continue;
    auto *context = module.getContext();
    StringRef name = state.getSymName();
    bool counts = name == rt::kStepScalar || name == rt::kSeedScalar || name == rt::kMicroScalar ||
                  name.starts_with("scalar.micro."); // of a further chunk
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
    LogicalResult (*rules[])(mlir::ModuleOp) = {checkMicroBatches, checkFunctionSet, checkResiduals, checkEdges,
                                                checkScalars,      checkFunctions,   checkUnsharded, checkStateAccess};
    bool failed = mlir::failed(checkLevel(getOperation(), "step"));
    failed |= mlir::failed(checkAttributes(getOperation(), Level::Step));
    for (auto rule : rules)
      failed |= mlir::failed(rule(getOperation()));
    if (failed)
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace

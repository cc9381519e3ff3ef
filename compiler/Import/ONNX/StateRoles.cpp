#include "compiler/Import/ONNX/StateRoles.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/GradientFlow.h"

#include "llvm/ADT/MapVector.h"

using namespace cleave;
using namespace cleave::onnx_import;
using mlir::Operation;
using mlir::Value;

// Values that lead to a loss. Each has the op that ends its gradient, or null if its path to the loss is
// differentiable.
using Ends = llvm::MapVector<Value, Operation *>;

// Visits operands from the values of `open`, which must be in `ends` already. It passes through the ops for which
// `passes` returns true.
static void follow(Ends &ends, llvm::SmallVector<Value> open, llvm::function_ref<bool(Operation *)> passes) {
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !passes(op))
      continue;
    for (Value operand : op->getOperands())
      if (mayHaveGradient(operand) && ends.insert({operand, ends.lookup(value)}).second)
        open.push_back(operand);
  }
}

static bool passesGradient(Operation *op) { return gradientFlow(op) == GradientFlow::Passes; }

static bool passesZeros(Operation *op) { return passesGradient(op) || givesZeroGradient(op); }

static Ends reached(llvm::ArrayRef<Value> roots, llvm::function_ref<bool(Operation *)> passes) {
  Ends ends;
  for (Value root : roots)
    ends.insert({root, nullptr});
  follow(ends, llvm::to_vector(roots), passes);
  return ends;
}

// Returns the values that a gradient would reach from the operands of ops without a derivative, if these ops had one.
static Ends behindGaps(const Ends &differentiable) {
  Ends ends;
  llvm::SmallVector<Value> open;
  for (auto [value, end] : differentiable)
    if (Operation *op = value.getDefiningOp(); op && gradientFlow(op) == GradientFlow::Missing)
      for (Value operand : op->getOperands())
        if (mayHaveGradient(operand) && ends.insert({operand, op}).second)
          open.push_back(operand);
  follow(ends, std::move(open), [](Operation *op) { return gradientFlow(op) != GradientFlow::Decision; });
  return ends;
}

// Returns all values that the loss depends on, each with the nearest decision.
static Ends dependences(llvm::ArrayRef<Value> roots) {
  Ends ends;
  llvm::SmallVector<Value> open(roots);
  for (Value root : roots)
    ends.insert({root, nullptr});
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op)
      continue;
    bool decides = gradientFlow(op) == GradientFlow::Decision;
    for (Value operand : op->getOperands()) {
      Operation *end = decides && mayHaveGradient(operand) ? op : ends.lookup(value);
      if (ends.insert({operand, end}).second)
        open.push_back(operand);
    }
  }
  return ends;
}

static llvm::SmallVector<Value> lossesOf(mlir::func::FuncOp model, llvm::ArrayRef<Value> results) {
  llvm::SmallVector<Value> losses;
  for (auto [i, result] : llvm::enumerate(results))
    if (model.getResultAttr(i, kLossAttr))
      losses.push_back(result);
  return losses.empty() ? llvm::to_vector(results) : losses;
}

RefinedStateRoles cleave::onnx_import::refineStateRoles(mlir::ModuleOp module, mlir::func::FuncOp model,
                                                        llvm::function_ref<bool(llvm::StringRef)> isOfAuthor) {
  llvm::SmallVector<Value> results(model.getBody().front().getTerminator()->getOperands());
  llvm::SmallVector<Value> losses = lossesOf(model, results);
  Ends fromLoss = reached(losses, passesGradient), fromAny = reached(results, passesGradient);
  Ends withZeros = reached(losses, passesZeros);
  Ends fromGaps = behindGaps(fromLoss), used = dependences(losses);

  // Reads in `model`. A state that only another function reads has an empty list.
  llvm::StringMap<llvm::SmallVector<Value>> reads;
  module.walk([&](ReadOp read) {
    auto &values = reads[read.getState()];
    if (read->getParentOfType<mlir::func::FuncOp>() == model)
      values.push_back(read.getResult());
  });
  RefinedStateRoles roles;
  for (StateOp state : llvm::make_early_inc_range(module.getOps<StateOp>())) {
    if (state.getRole() == Role::Scalar)
      continue;
    std::string name = llvm::cast<SegmentAttr>(state.getSegments()[0]).getName().str();
    auto found = reads.find(state.getSymName());
    if (found == reads.end()) {
      roles.unused.push_back(name);
      state.erase();
      continue;
    }
    if (state.getRole() != Role::Parameter)
      continue;
    llvm::ArrayRef<Value> values = found->second;
    auto isIn = [&](const Ends &ends) { return [&](Value value) { return ends.contains(value); }; };
    const Value *gap = llvm::find_if(values, isIn(fromGaps)), *use = llvm::find_if(values, isIn(used));
    if (gap != values.end() && !state.getFrozen())
      roles.missing.push_back({name, fromGaps.lookup(*gap)});
    if (llvm::any_of(values, isIn(fromLoss)))
      continue;
    if (llvm::any_of(values, isIn(withZeros)) && gap == values.end() && isOfAuthor(name)) {
      if (!state.getFrozen())
        roles.zero.push_back({name, used.lookup(*use)});
      continue;
    }
    if (gap == values.end() && use != values.end() && !state.getFrozen())
      roles.decided.push_back({name, used.lookup(*use)});
    state.setRole(llvm::any_of(values, isIn(fromAny)) ? Role::Buffer : Role::Constant);
  }
  return roles;
}

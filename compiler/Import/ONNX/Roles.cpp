#include "compiler/Import/ONNX/Roles.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "llvm/ADT/DenseSet.h"

using namespace cleave;
using namespace cleave::onnx_import;

static bool carriesGradient(mlir::Operation *op) {
  auto isFloat = [](mlir::Type type) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    return tensor && llvm::isa<mlir::FloatType>(tensor.getElementType());
  };
  return llvm::isa<DifferentiableOpInterface>(op) && llvm::any_of(op->getResultTypes(), isFloat);
}

// Values on a differentiable path to one of `roots`, going from results to operands.
static llvm::DenseSet<mlir::Value> reached(llvm::ArrayRef<mlir::Value> roots) {
  llvm::DenseSet<mlir::Value> seen(roots.begin(), roots.end());
  llvm::SmallVector<mlir::Value> open(roots);
  while (!open.empty()) {
    mlir::Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !carriesGradient(op))
      continue;
    for (mlir::Value operand : op->getOperands())
      if (seen.insert(operand).second)
        open.push_back(operand);
  }
  return seen;
}

std::vector<std::string> cleave::onnx_import::refineRoles(mlir::ModuleOp module, mlir::func::FuncOp model) {
  auto results = llvm::to_vector(model.getBody().front().getTerminator()->getOperands());
  llvm::SmallVector<mlir::Value> losses;
  for (auto [i, result] : llvm::enumerate(results))
    if (model.getResultAttr(i, "cleave.loss"))
      losses.push_back(result);
  auto fromAny = reached(results), fromLoss = losses.empty() ? fromAny : reached(losses);

  llvm::StringMap<ReadOp> reads;
  llvm::StringMap<bool> used;
  module.walk([&](mlir::Operation *op) {
    if (auto read = llvm::dyn_cast<ReadOp>(op)) {
      used[read.getState()] = true;
      if (read->getParentOfType<mlir::func::FuncOp>() == model)
        reads[read.getState()] = read;
    }
  });
  std::vector<std::string> erased;
  for (StateOp state : llvm::make_early_inc_range(module.getOps<StateOp>())) {
    if (state.getRole() == Role::Scalar)
      continue;
    if (!used.count(state.getSymName())) {
      erased.push_back(llvm::cast<SegmentAttr>(state.getSegments()[0]).getName().str());
      state.erase();
      continue;
    }
    if (state.getRole() != Role::Parameter)
      continue;
    auto read = reads.find(state.getSymName());
    mlir::Value value = read == reads.end() ? mlir::Value() : read->second.getResult();
    if (!value || !fromLoss.contains(value))
      state.setRole(value && fromAny.contains(value) ? Role::Buffer : Role::Constant);
  }
  return erased;
}

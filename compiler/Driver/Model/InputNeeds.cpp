#include "compiler/Driver/Model/InputNeeds.h"

#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Scatter.h"
#include "runtime/plan/Properties.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"

using namespace cleave;

namespace {

// The arguments on which each value of a block depends. An op's results depend on all values that the op or its regions
// read.
class ArgumentDependence {
public:
  explicit ArgumentDependence(mlir::Block &block) : count(block.getNumArguments()) {
    for (mlir::BlockArgument argument : block.getArguments())
      of(argument).set(argument.getArgNumber());
    for (mlir::Operation &op : block) {
      llvm::BitVector read(count);
      op.walk([&](mlir::Operation *inner) {
        for (mlir::Value operand : inner->getOperands())
          read |= of(operand);
      });
      for (mlir::Value result : op.getResults())
        of(result) = read;
    }
  }

  llvm::BitVector &of(mlir::Value value) { return dependence.try_emplace(value, count).first->second; }

private:
  unsigned count;
  llvm::DenseMap<mlir::Value, llvm::BitVector> dependence;
};

// Returns the function for inference, or null if there is none with a single block.
mlir::func::FuncOp functionOf(mlir::ModuleOp module) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>("model.eval");
  if (!function)
    function = module.lookupSymbol<mlir::func::FuncOp>("model");
  return function && function.getBody().hasOneBlock() ? function : mlir::func::FuncOp();
}

} // namespace

void cleave::dropOptionalChecks(mlir::ModuleOp module) {
  auto function = functionOf(module);
  if (!function)
    return;
  mlir::Block &block = function.getBody().front();
  ArgumentDependence dependence(block);
  for (auto check : llvm::make_early_inc_range(block.getOps<CheckIndexOp>())) {
    // The remaining bits are inputs of the check that the output does not need.
    auto isOptionalFor = [&](mlir::Value output) {
      llvm::BitVector inputs = dependence.of(check.getOperand());
      inputs.reset(dependence.of(output));
      return inputs.any();
    };
    if (!llvm::any_of(block.getTerminator()->getOperands(), isOptionalFor))
      continue;
    check.replaceAllUsesWith(check.getOperand());
    check.erase();
  }
}

std::map<std::string, std::string> cleave::inputNeeds(mlir::ModuleOp module) {
  auto function = functionOf(module);
  if (!function)
    return {};
  mlir::Block &block = function.getBody().front();
  ArgumentDependence dependence(block);
  std::map<std::string, std::string> needs;
  for (mlir::OpOperand &output : block.getTerminator()->getOpOperands()) {
    const llvm::BitVector &read = dependence.of(output.get());
    auto name = function.getResultAttrOfType<mlir::StringAttr>(output.getOperandNumber(), kNameAttr);
    if (!name || read.all())
      continue;
    std::string list;
    for (unsigned i = 0; i < block.getNumArguments(); ++i) {
      auto input = function.getArgAttrOfType<mlir::StringAttr>(i, kNameAttr);
      if (!input || input.getValue().contains(','))
        return {};
      if (read.test(i))
        list += (list.empty() ? "" : ",") + input.getValue().str();
    }
    needs[rt::kNeedsProperties.of(name.getValue())] = list;
  }
  return needs;
}

#include "compiler/Sharding/Linearity.h"

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/IR/Matchers.h"

using namespace cleave;
using mlir::Value;

bool cleave::isFloat(Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type && llvm::isa<mlir::FloatType>(type.getElementType());
}

bool cleave::isZero(Value value) {
  mlir::DenseElementsAttr constant;
  if (!mlir::matchPattern(value, mlir::m_Constant(&constant)) || !constant.isSplat())
    return false;
  auto number = llvm::dyn_cast<mlir::FloatAttr>(constant.getSplatValue<mlir::Attribute>());
  return number && number.getValue().isZero();
}

static bool hasNumber(mlir::Operation *op) {
  return llvm::any_of(op->getAttrDictionary(), [](mlir::NamedAttribute attribute) {
    auto number = llvm::dyn_cast<mlir::FloatAttr>(attribute.getValue());
    return number && !number.getValue().isZero();
  });
}

// Builds the gradient in a block that is thrown away.
bool cleave::isLinear(mlir::Operation *op) {
  auto rule = llvm::dyn_cast<DifferentiableOpInterface>(op);
  if (!rule || op->getNumResults() != 1 || !isFloat(op->getResult(0)) || hasNumber(op))
    return false;
  mlir::Block scratch;
  mlir::OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&scratch);
  Value seed = scratch.addArgument(op->getResult(0).getType(), op->getLoc());
  llvm::SmallVector<Value> gradients(op->getNumOperands());
  bool isBuilt = mlir::succeeded(rule.buildVJP(builder, {seed}, gradients));
  // The values that a linear op's gradient does not read. A set, because a concat may have thousands of operands.
  llvm::SmallDenseSet<Value, 8> numbers;
  numbers.insert(op->getResult(0));
  for (Value operand : op->getOperands())
    if (isFloat(operand))
      numbers.insert(operand);
  bool usesValues = false;
  scratch.walk([&](mlir::Operation *part) {
    usesValues |= llvm::any_of(part->getOperands(), [&](Value used) { return numbers.contains(used); });
  });
  bool hasAll = llvm::all_of(llvm::zip_equal(op->getOperands(), gradients),
                             [](auto pair) { return !isFloat(std::get<0>(pair)) || std::get<1>(pair); });
  return isBuilt && hasAll && !usesValues;
}

#include "compiler/Sharding/ValueNames.h"

#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/IR/BuiltinOps.h"

using namespace cleave;
using mlir::Value;

static std::string kindOf(StateOp state) {
  switch (state.getRole()) {
  case Role::Parameter:
    return "parameter ";
  case Role::Gradient:
    return "the gradient of ";
  case Role::Optimizer:
    return "optimizer state '" + state.getSlot().value_or("").str() + "' of ";
  case Role::Buffer:
    return "buffer ";
  default:
    return "state ";
  }
}

std::string cleave::nameOf(StateOp state) {
  constexpr size_t kMaxNames = 2;
  std::string text = kindOf(state);
  auto segments = state.getSegments().getAsRange<SegmentAttr>();
  size_t count = state.getSegments().size(), index = 0;
  for (SegmentAttr segment : segments) {
    if (index == kMaxNames) {
      text += " and " + std::to_string(count - index) + " more";
      break;
    }
    text += (index++ ? ", '" : "'") + segment.getName().str() + "'";
  }
  return text + " (@" + state.getSymName().str() + ")";
}

// Returns the first name in a location; empty if it has none.
static std::string nodeOf(mlir::Location loc) {
  std::string name;
  loc->walk([&](mlir::Location part) {
    auto named = llvm::dyn_cast<mlir::NameLoc>(part);
    if (named)
      name = named.getName().str();
    return named ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  return name;
}

std::string cleave::nameOf(Value value) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op) {
    auto argument = llvm::cast<mlir::BlockArgument>(value);
    auto function = llvm::dyn_cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
    if (!function)
      return "operand " + std::to_string(argument.getArgNumber()) + " of the kernel";
    if (auto name = function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), kNameAttr))
      return "input '" + name.getValue().str() + "'";
    return "argument " + std::to_string(argument.getArgNumber()) + " of @" + function.getName().str();
  }
  if (auto read = llvm::dyn_cast<ReadOp>(op))
    if (auto module = op->getParentOfType<mlir::ModuleOp>())
      if (auto state = module.lookupSymbol<StateOp>(read.getState()))
        return nameOf(state);
  std::string node = nodeOf(op->getLoc());
  return "the result of " + op->getName().getStringRef().str() + (node.empty() ? "" : " (" + node + ")");
}

#include "dialects/Cleave/IR/StepFunctions.h"

#include "dialects/Cleave/IR/Attributes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;

namespace cleave {

std::optional<unsigned> chunkNumber(llvm::StringRef function) {
  llvm::StringRef name = function.split('.').first;
  unsigned number = 0;
  // Leading zeros are not accepted, so that each number has one name.
  if (!name.consume_front("c") || name.empty() || !llvm::all_of(name, llvm::isDigit) ||
      (name.size() > 1 && name.front() == '0') || name.getAsInteger(10, number))
    return std::nullopt;
  return number;
}

std::string chunkName(unsigned number) { return "c" + std::to_string(number); }

llvm::StringRef variantOf(llvm::StringRef function) {
  for (llvm::StringRef variant : {".first", ".last"})
    if (chunkNumber(function) && function.ends_with(variant))
      return variant;
  return "";
}

llvm::SmallVector<unsigned> chunksOf(ModuleOp module) {
  std::set<unsigned> numbers;
  for (auto function : module.getOps<func::FuncOp>())
    if (std::optional<unsigned> number = chunkNumber(function.getName()))
      numbers.insert(*number);
  return llvm::SmallVector<unsigned>(numbers.begin(), numbers.end());
}

llvm::SmallVector<func::FuncOp> inStepOrder(ModuleOp module) {
  llvm::SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isDeclaration())
      functions.push_back(function);
  auto rank = [](func::FuncOp function) {
    auto chunk = static_cast<int64_t>(chunkNumber(function.getName()).value_or(0));
    return isBackward(function) ? std::make_pair(1, -chunk) : std::make_pair(0, chunk);
  };
  llvm::stable_sort(functions, [&](func::FuncOp a, func::FuncOp b) { return rank(a) < rank(b); });
  return functions;
}

llvm::StringRef edgeOfArgument(func::FuncOp function, unsigned index) {
  auto edge = function.getArgAttrOfType<StringAttr>(index, kEdgeAttr);
  return edge ? edge.getValue() : llvm::StringRef();
}

llvm::StringRef edgeOfResult(func::FuncOp function, unsigned index) {
  auto edge = function.getResultAttrOfType<StringAttr>(index, kEdgeAttr);
  return edge ? edge.getValue() : llvm::StringRef();
}

std::string edgeGradientName(llvm::StringRef edge, unsigned user) { return (edge + ".grad." + chunkName(user)).str(); }

static OpOperand *returned(func::FuncOp function, int64_t index) {
  Operation *terminator = function ? function.getBody().front().getTerminator() : nullptr;
  return terminator && index >= 0 && index < terminator->getNumOperands() ? &terminator->getOpOperand(index) : nullptr;
}

OpOperand *sourceOf(BlockArgument argument) {
  auto function = llvm::cast<func::FuncOp>(argument.getOwner()->getParentOp());
  unsigned index = argument.getArgNumber();
  if (auto residual = function.getArgAttrOfType<IntegerAttr>(index, kResidualAttr))
    return returned(forwardOf(function), residual.getInt());
  llvm::StringRef edge = edgeOfArgument(function, index);
  if (edge.empty())
    return nullptr;
  llvm::StringRef variant = variantOf(function.getName());
  for (auto other : function->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    if (!other.isDeclaration() && variantOf(other.getName()) == variant)
      for (unsigned i = 0; i < other.getNumResults(); ++i)
        if (edgeOfResult(other, i) == edge)
          return returned(other, i);
  return nullptr;
}

} // namespace cleave

#include "compiler/Import/ONNX/ConstantPool.h"
#include "compiler/Import/ONNX/States.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Triangle.h"

using namespace cleave;
using namespace cleave::onnx_import;

bool ConstantPool::isLarge(const Literal &literal) {
  return !literal.isSplat() && literal.numElements() * elementBytes(literal.element()) > kMaxConstantBytes;
}

std::string ConstantPool::stateOf(const Literal &literal) {
  auto &alike = known_[{literal.type().getAsOpaquePointer(), llvm::hash_value(literal.bytes())}];
  for (const auto &[other, symbol] : alike)
    if (other.bytes() == literal.bytes())
      return symbol;
  // Constants and initializers share one name space, `weights_`.
  std::string name = "constant." + std::to_string(count_++);
  while (weights_.find(name))
    name += "_";
  weights_.insert(name, {literal.type(), llvm::ArrayRef<char>(literal.bytes().data(), literal.bytes().size())});
  weights_.own(literal.owner());
  alike.emplace_back(literal, declareState(symbols_, name, literal.type(), Role::Constant, InitKind::Weights));
  auto element = [&](int64_t i) { return literal.isFloat() ? literal.asReal(i) : double(literal.asInt(i)); };
  if (mlir::Attribute triangle = triangleOf(literal.type(), element))
    symbols_.lookup<StateOp>(alike.back().second)->setAttr(kTriangleAttr, triangle);
  return alike.back().second;
}

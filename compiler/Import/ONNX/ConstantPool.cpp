#include "compiler/Import/ONNX/ConstantPool.h"
#include "compiler/Import/ONNX/States.h"

using namespace cleave;
using namespace cleave::onnx_import;

bool ConstantPool::isLarge(const Literal &literal) {
  return !literal.isSplat() && literal.numElements() * elementBytes(literal.element()) > kMaxConstantBytes;
}

std::string ConstantPool::stateOf(const Literal &literal) {
  auto bytes = std::make_shared<std::string>(literal.bytes());
  std::string &symbol = known_[{literal.type().getAsOpaquePointer(), *bytes}];
  if (symbol.empty()) {
    // Names of constants and of initializers share one space.
    std::string name = "constant." + std::to_string(known_.size() - 1);
    while (weights_.find(name))
      name += "_";
    weights_.insert(name, {literal.type(), llvm::ArrayRef<char>(bytes->data(), bytes->size())});
    weights_.own(bytes);
    symbol = declareState(symbols_, name, literal.type(), Role::Constant, InitKind::Weights);
  }
  return symbol;
}

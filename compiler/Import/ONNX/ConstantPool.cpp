#include "compiler/Import/ONNX/ConstantPool.h"
#include "compiler/Import/ONNX/States.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Budget.h"
#include "dialects/Cleave/IR/Triangle.h"

#include <cstring>

using namespace cleave;
using namespace cleave::onnx_import;

bool ConstantPool::isLarge(const Literal &literal) {
  return !literal.isSplat() && literal.numElements() * elementBytes(literal.element()) > kMaxConstantBytes;
}

// Returns the literal with size 1 in each dimension along which it repeats itself.
static Literal withoutCopies(const Literal &literal) {
  Shape shape(literal.shape());
  llvm::StringRef bytes = literal.bytes(); // of the literal, or of `owner`
  std::shared_ptr<const std::string> owner;
  size_t inner = bytes.size() / static_cast<size_t>(literal.numElements()); // bytes of what is within one index
  for (size_t dim = shape.size(); dim-- > 0;) {
    size_t size = static_cast<size_t>(shape[dim]), run = inner * size;
    auto repeats = [&](size_t begin) {
      return std::memcmp(bytes.data() + begin, bytes.data() + begin + inner, run - inner) == 0;
    };
    bool all = size > 1;
    for (size_t begin = 0; all && begin < bytes.size(); begin += run)
      all = repeats(begin);
    if (!all) {
      inner = run;
      continue;
    }
    std::string kept;
    for (size_t begin = 0; begin < bytes.size(); begin += run)
      kept.append(bytes, begin, inner);
    owner = std::make_shared<const std::string>(std::move(kept));
    bytes = *owner;
    shape[dim] = 1;
  }
  if (!owner)
    return literal;
  return Literal::fromBytes(mlir::RankedTensorType::get(shape, literal.element()), *owner, owner);
}

const ConstantPool::Stored &ConstantPool::stored(const Literal &literal) {
  std::pair<const void *, const void *> key{literal.type().getAsOpaquePointer(), literal.bytes().data()};
  if (auto known = stored_.find(key); known != stored_.end())
    return known->second.second;
  // Many names may have one constant's bytes in other shapes, or begin at other bytes of one external file.
  constexpr uint64_t kBytesPerStep = 64;
  if (!Budget::of(symbols_.getOp()->getContext()).draw(Budget::Kind::Work, literal.bytes().size() / kBytesPerStep)) {
    Literal zero(literal.element(), literal.shape()); // of a program that is refused
    zero.push(int64_t(0));
    return stored_.try_emplace(key, literal, Stored{zero, ""}).first->second.second;
  }
  Literal kept = withoutCopies(literal);
  std::string symbol = isLarge(kept) ? stateOf(kept) : "";
  return stored_.try_emplace(key, literal, Stored{kept, symbol}).first->second.second;
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
  literals_[alike.back().second] = std::make_shared<const Literal>(literal);
  auto element = [&](int64_t i) { return literal.isFloat() ? literal.asReal(i) : double(literal.asInt(i)); };
  if (mlir::Attribute triangle = triangleOf(literal.type(), element))
    symbols_.lookup<StateOp>(alike.back().second)->setAttr(kTriangleAttr, triangle);
  return alike.back().second;
}

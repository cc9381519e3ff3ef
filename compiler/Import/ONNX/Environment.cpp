#include "compiler/Import/ONNX/Environment.h"
#include "compiler/Import/ONNX/States.h"

using namespace cleave;
using namespace cleave::onnx_import;

Value Environment::materialize(const Literal &literal) {
  if (!ConstantPool::isLarge(literal))
    return emit_.literal(literal);
  const ConstantPool::Stored &stored = constants_.stored(literal);
  Value value = stored.symbol.empty() ? emit_.literal(stored.literal) : readState(stored.symbol);
  return emit_.broadcastTo(value, literal.shape());
}

Value Environment::materialize(Binding &binding) {
  switch (binding.kind) {
  case Binding::Kind::Known:
    if (!binding.value)
      binding.value = materialize(*binding.known);
    return binding.value;
  case Binding::Kind::State:
    return readState(binding.symbol);
  default:
    return binding.value;
  }
}

TypeSet Environment::typesOf(const Binding &binding) const {
  switch (binding.kind) {
  case Binding::Kind::Known:
    return tensorOf(binding.known->element());
  case Binding::Kind::Computed:
    return tensorOf(elementOf(binding.value));
  case Binding::Kind::State:
    return tensorOf(state(binding.symbol).getTensorType().getElementType());
  case Binding::Kind::Sequence:
    return binding.elements->empty() ? sequenceOf(~TypeSet(0)) : sequenceOf(typesOf(*binding.elements->front()));
  default:
    return 0;
  }
}

Value Environment::readScalar(llvm::StringRef symbol) {
  if (!symbols_.lookup(symbol))
    declareState(symbols_, symbol, mlir::RankedTensorType::get({}, emit_.i64()), Role::Scalar, InitKind::Zeros);
  return readState(symbol);
}

Value Environment::readState(llvm::StringRef symbol) {
  if (auto it = pending_.find(symbol.str()); it != pending_.end())
    return it->second;
  Value &read = reads_[symbol];
  if (!read) {
    read = ReadOp::create(emit_.builder, emit_.loc, state(symbol).getTensorType(), symbol);
  }
  return read;
}

void Environment::writeState(llvm::StringRef symbol, Value value) {
  pending_[symbol.str()] = value;
  ++writes_[symbol];
}

void Environment::emitWrites() {
  for (auto &[symbol, value] : pending_)
    WriteOp::create(emit_.builder, emit_.loc, value, symbol);
}

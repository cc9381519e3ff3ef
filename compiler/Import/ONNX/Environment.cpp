#include "compiler/Import/ONNX/Environment.h"
#include "compiler/Import/ONNX/States.h"

using namespace cleave;
using namespace cleave::onnx_import;

Value Environment::materialize(Slot &slot) {
  switch (slot.kind) {
  case Slot::Kind::Known:
    if (!slot.value)
      slot.value =
          ConstantPool::isLarge(*slot.known) ? readState(constants_.stateOf(*slot.known)) : emit_.literal(*slot.known);
    return slot.value;
  case Slot::Kind::State:
    return readState(slot.symbol);
  default:
    return slot.value;
  }
}

TypeSet Environment::typesOf(const Slot &slot) const {
  switch (slot.kind) {
  case Slot::Kind::Known:
    return tensorOf(slot.known->element());
  case Slot::Kind::Computed:
    return tensorOf(elementOf(slot.value));
  case Slot::Kind::State:
    return tensorOf(symbols_.lookup<StateOp>(slot.symbol).getTensorType().getElementType());
  case Slot::Kind::Sequence:
    return slot.elements->empty() ? sequenceOf(~TypeSet(0)) : sequenceOf(typesOf(slot.elements->front()));
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
    auto state = symbols_.lookup<StateOp>(symbol);
    read = ReadOp::create(emit_.builder, emit_.loc, state.getTensorType(), symbol);
  }
  return read;
}

void Environment::emitWrites() {
  for (auto &[symbol, value] : pending_)
    WriteOp::create(emit_.builder, emit_.loc, value, symbol);
}

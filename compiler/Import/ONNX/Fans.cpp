#include "compiler/Import/ONNX/Fans.h"

using namespace cleave::onnx_import;

static int64_t integerOf(const onnx::NodeProto &node, llvm::StringRef name) {
  for (const auto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.i();
  return 0;
}

// True if a Transpose exchanges the last two dimensions and keeps the others. A Transpose without `perm` reverses all
// dimensions; it is taken to be of rank 2.
static bool exchangesLastTwo(const onnx::NodeProto &transpose) {
  for (const auto &attribute : transpose.attribute()) {
    if (attribute.name() != "perm")
      continue;
    int rank = attribute.ints_size();
    for (int i = 0; i < rank; ++i)
      if (attribute.ints(i) != (i == rank - 2 ? rank - 1 : i == rank - 1 ? rank - 2 : i))
        return false;
    return rank >= 2;
  }
  return true;
}

FanTable::FanTable(const FlatGraph &graph) {
  forEachNode(graph, [this](const onnx::NodeProto &node) { addUse(node); });
}

FanTable::Alias FanTable::aliasOf(llvm::StringRef name) const {
  auto known = aliases_.find(name);
  return known == aliases_.end() ? Alias{name, false} : known->second;
}

void FanTable::addUse(const onnx::NodeProto &node) {
  llvm::StringRef op = node.op_type();
  auto input = [&](int i) { return i < node.input_size() ? llvm::StringRef(node.input(i)) : llvm::StringRef(); };
  bool isCopy = op == "Identity" || op == "Cast", isTranspose = op == "Transpose" && exchangesLastTwo(node);
  if ((isCopy || isTranspose) && node.output_size() == 1) {
    Alias from = aliasOf(input(0));
    aliases_.try_emplace(node.output(0), Alias{from.source, from.isTransposed != isTranspose});
  }
  if (op == "MatMul" || op == "Gemm") {
    addMatrix(input(1), integerOf(node, "transB") ? Order::OutIn : Order::InOut);
    addMatrix(input(0), integerOf(node, "transA") ? Order::InOut : Order::OutIn);
  }
  if (op == "LSTM" || op == "GRU" || op == "RNN")
    for (int i : {1, 2})
      addMatrix(input(i), Order::OutIn);
}

void FanTable::addMatrix(llvm::StringRef name, Order order) {
  Alias alias = aliasOf(name);
  if (alias.isTransposed)
    order = order == Order::OutIn ? Order::InOut : Order::OutIn;
  orders_.try_emplace(alias.source, order);
}

Fans FanTable::of(llvm::StringRef name, llvm::ArrayRef<int64_t> shape) const {
  auto order = orders_.find(name);
  if (order != orders_.end()) {
    int64_t before = shape[shape.size() - 2], last = shape.back();
    return order->second == Order::OutIn ? Fans{last, before} : Fans{before, last};
  }
  int64_t field = 1;
  for (int64_t size : shape.drop_front(2))
    field *= size;
  return {shape[1] * field, shape[0] * field};
}

#include "compiler/Import/ONNX/File/TensorUses.h"

#include "llvm/ADT/StringSet.h"

using namespace cleave::onnx_import;

TensorUses::TensorUses(const FlatGraph &graph) {
  forEachNode(graph, [&](const onnx::NodeProto &node) {
    for (int i = 0; i < node.input_size(); ++i)
      uses_[node.input(i)].push_back({node.op_type(), i});
  });
}

llvm::ArrayRef<TensorUses::Use> TensorUses::of(llvm::StringRef name) const {
  auto found = uses_.find(name);
  return found == uses_.end() ? llvm::ArrayRef<Use>() : llvm::ArrayRef<Use>(found->second);
}

bool TensorUses::isClassWeight(llvm::StringRef name) const {
  llvm::ArrayRef<Use> uses = of(name);
  return !uses.empty() && llvm::all_of(uses, [](const Use &use) {
    return use.input == 2 &&
           (use.operation == "SoftmaxCrossEntropyLoss" || use.operation == "NegativeLogLikelihoodLoss");
  });
}

bool TensorUses::isInitialState(llvm::StringRef name) const {
  llvm::ArrayRef<Use> uses = of(name);
  return !uses.empty() && llvm::all_of(uses, [](const Use &use) {
    bool recurrent = use.operation == "LSTM" || use.operation == "GRU" || use.operation == "RNN";
    return recurrent && (use.input == 5 || use.input == 6);
  });
}

bool TensorUses::isSharedStatistic(llvm::StringRef name) const {
  auto isStatistic = [](const Use &use) {
    return use.operation == "BatchNormalization" && (use.input == 3 || use.input == 4);
  };
  llvm::ArrayRef<Use> uses = of(name);
  return llvm::any_of(uses, isStatistic) && !llvm::all_of(uses, isStatistic);
}

bool TensorUses::isArithmetic(llvm::StringRef name) const {
  static const llvm::StringSet<> arithmetic = {"Add", "Sub", "Mul", "Div", "Log", "Exp", "Sqrt"};
  llvm::ArrayRef<Use> uses = of(name);
  return !uses.empty() && llvm::all_of(uses, [](const Use &use) {
    return arithmetic.contains(use.operation) || (use.operation == "Gather" && use.input == 0);
  });
}

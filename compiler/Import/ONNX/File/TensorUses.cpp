#include "compiler/Import/ONNX/File/TensorUses.h"

#include "llvm/ADT/StringSet.h"

using namespace cleave::onnx_import;

TensorUses::TensorUses(const FlatGraph &graph) {
  llvm::StringMap<std::string> tensors; // of further names
  forEachNode(graph, [&](const onnx::NodeProto &node) {
    for (int i = 0; i < node.input_size(); ++i) {
      auto further = tensors.find(node.input(i));
      bool isOwnName = further == tensors.end();
      std::string name = isOwnName ? node.input(i) : further->second;
      if (node.op_type() == "Identity" && node.output_size() == 1)
        tensors[node.output(0)] = name;
      else
        uses_[name].push_back({node.op_type(), i, isOwnName});
    }
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
  auto isOwnStatistic = [&](const Use &use) { return use.hasOwnName && isStatistic(use); };
  llvm::ArrayRef<Use> uses = of(name);
  return llvm::any_of(uses, isOwnStatistic) && !llvm::all_of(uses, isStatistic);
}

bool TensorUses::isArithmetic(llvm::StringRef name) const {
  static const llvm::StringSet<> arithmetic = {"Add", "Sub", "Mul", "Div", "Log", "Exp", "Sqrt"};
  llvm::ArrayRef<Use> uses = of(name);
  return !uses.empty() && llvm::all_of(uses, [](const Use &use) {
    return arithmetic.contains(use.operation) || (use.operation == "Gather" && use.input == 0);
  });
}

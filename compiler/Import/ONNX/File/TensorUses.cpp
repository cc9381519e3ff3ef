#include "compiler/Import/ONNX/File/TensorUses.h"

using namespace cleave::onnx_import;

namespace {

// Finds the operands of layers, under the names that they have before they are reshaped.
class LayerOperands {
public:
  explicit LayerOperands(llvm::StringSet<> &found) : found(found) {}

  void visit(const onnx::NodeProto &node) {
    static const llvm::StringSet<> views = {"Identity",  "Reshape", "Squeeze", "Unsqueeze",
                                            "Transpose", "Expand",  "Cast"};
    static const llvm::StringSet<> products = {"MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum"};
    static const llvm::StringSet<> scaling = {"BatchNormalization", "InstanceNormalization", "LayerNormalization",
                                              "GroupNormalization", "RMSNormalization",      "PRelu"};
    const std::string &type = node.op_type();
    if (views.contains(type) && node.input_size() > 0 && node.output_size() > 0)
      tensors[node.output(0)] = tensorOf(node.input(0));
    if (products.contains(type))
      visitProduct(node);
    else if (scaling.contains(type))
      take(node, /*first=*/1);
    else if (type == "Add" && node.input_size() == 2)
      visitSum(node);
  }

private:
  void visitProduct(const onnx::NodeProto &node) {
    take(node, /*first=*/0);
    if (node.output_size() > 0)
      results.insert(node.output(0));
  }

  void visitSum(const onnx::NodeProto &node) {
    for (int i : {0, 1})
      if (results.contains(tensorOf(node.input(1 - i))))
        found.insert(tensorOf(node.input(i)));
  }

  void take(const onnx::NodeProto &node, int first) {
    for (int i = first; i < node.input_size(); ++i)
      found.insert(tensorOf(node.input(i)));
  }

  std::string tensorOf(const std::string &name) const {
    auto tensor = tensors.find(name);
    return tensor == tensors.end() ? name : tensor->second;
  }

  llvm::StringSet<> &found;
  llvm::StringSet<> results;            // of products
  llvm::StringMap<std::string> tensors; // of reshaped ones
};

} // namespace

TensorUses::TensorUses(const FlatGraph &graph) {
  LayerOperands layers(ofLayers_);
  forEachNode(graph, [&](const onnx::NodeProto &node) { layers.visit(node); });
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

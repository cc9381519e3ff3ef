// What a handler sees of the node that it imports: inputs, attributes, results; and how it fails.
//
// Example, the whole handler of ONNX Sqrt:
//   LogicalResult importSqrt(OpContext &op) { return op.result(op.emit.unary<SqrtOp>(op.value(0))); }
// When a handler is called, the node is what the standard's definition of its operator allows: required inputs are
// there, and inputs and attributes have its types.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPCONTEXT_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPCONTEXT_H

#include "compiler/Import/ONNX/Environment.h"
#include "compiler/Import/ONNX/File/FlatGraph.h"
#include "compiler/Import/ONNX/File/TensorReader.h"

namespace cleave::onnx_import {

using llvm::LogicalResult;
using llvm::success;

// Facts about the import that handlers depend on.
struct Mode {
  bool training = false;
  int64_t batchNormGroups = 1;
  // The module is trained, and this function may be its evaluation: losses are those of the framework's call, of which
  // an exporter may have lost a part (TorchGradients.h).
  bool inTrainedModule = false;
};

class OpContext {
public:
  OpContext(const FlatNode &node, Environment &environment, Emitter &emit, const Mode &mode, ErrorList &errors,
            std::vector<std::string> &notes, TensorReader &tensors, int64_t &nextSite)
      : emit(emit), mode(mode), tensors(tensors), node_(node), environment_(environment), errors_(errors),
        notes_(notes), nextSite_(nextSite) {}

  Emitter &emit;
  const Mode &mode;
  TensorReader &tensors; // reads those of attributes; some lie in the model's external files

  llvm::StringRef name() const { return node_.proto->op_type(); }
  int64_t opset() const { return node_.opset(); }
  const Opsets &opsets() const { return *node_.opsets; } // for the graphs of the node
  std::string describe() const { return node_.describe(); }
  const onnx::NodeProto &node() const { return *node_.proto; }

  // Inputs.
  size_t numInputs() const { return size_t(node_.proto->input_size()); }
  bool has(size_t i) const;
  llvm::StringRef inputName(size_t i) const { return node_.proto->input(int(i)); }
  Value value(size_t i);
  llvm::SmallVector<Value> values();
  // From now on, inputs in half precision come as f32 and results are rounded to the first input's type: sums neither
  // overflow nor round in between.
  void computeInF32();
  // Null when the input's value is not known at import.
  const Literal *literal(size_t i);
  // The elements of a sequence input; null when it is a tensor. Valid until a result is defined.
  const std::vector<Binding> *sequence(size_t i);
  // The symbol of the state that the input is; empty when it is none.
  llvm::StringRef state(size_t i);
  Environment &environment() { return environment_; }

  // Attributes; the default when the node has none of that name and type. A zero counts as written where the type
  // says so: writers of proto3 leave the field out.
  const onnx::AttributeProto *attribute(llvm::StringRef name) const;
  int64_t intAttr(llvm::StringRef name, int64_t otherwise) const;
  double floatAttr(llvm::StringRef name, double otherwise) const;
  std::optional<int64_t> intAttr(llvm::StringRef name) const;
  std::optional<double> floatAttr(llvm::StringRef name) const;
  std::string stringAttr(llvm::StringRef name, llvm::StringRef otherwise) const;
  std::optional<Shape> intsAttr(llvm::StringRef name) const;
  // Integers that are an attribute in old opsets and input `i` in new ones. Fails when the input is not known at
  // import.
  llvm::FailureOr<std::optional<Shape>> ints(llvm::StringRef name, size_t i);
  // The same for one number.
  llvm::FailureOr<std::optional<double>> number(llvm::StringRef name, size_t i);

  // Results.
  size_t numOutputs() const { return size_t(node_.proto->output_size()); }
  bool wants(size_t i) const { return i < numOutputs() && !node_.proto->output(int(i)).empty(); }
  llvm::StringRef outputName(size_t i) const { return node_.proto->output(int(i)); }
  LogicalResult result(Value value) { return result(0, value); }
  LogicalResult result(size_t i, Value value);
  LogicalResult result(Literal literal);
  void define(size_t i, Binding binding);

  // Failure, with the reason: "node 'a' (Reshape): <reason>".
  LogicalResult fail(const llvm::Twine &reason);
  void note(const llvm::Twine &text) { notes_.push_back(text.str()); }
  // A number for the next random op; the same in every import of the same file.
  int64_t takeSite() { return nextSite_++; }

  // Checks that handlers share; each fails with a message.
  // -1 counts from the end. `axis` may be rank itself when `inclusive`.
  llvm::FailureOr<int64_t> axis(int64_t axis, int64_t rank, bool inclusive = false);
  // Axes as they are listed, none of them twice; without a list, the first `count`.
  llvm::FailureOr<Shape> axisList(const std::optional<Shape> &axes, int64_t rank, size_t count);
  // A set of axes, in ascending order.
  llvm::FailureOr<Shape> axes(llvm::ArrayRef<int64_t> axes, int64_t rank);
  // The shape to which all broadcast; their element types must be equal.
  llvm::FailureOr<Shape> commonShape(llvm::ArrayRef<Value> values);
  LogicalResult expectBroadcast(llvm::ArrayRef<Value> values) { return commonShape(values); }
  LogicalResult expectFloat(Value value);
  LogicalResult expectRank(Value value, int64_t low, int64_t high);

private:
  LogicalResult checkRank(llvm::ArrayRef<int64_t> shape);

  const FlatNode &node_;
  Environment &environment_;
  ErrorList &errors_;
  std::vector<std::string> &notes_;
  int64_t &nextSite_;
  mlir::Type narrow_; // of the results, where the inputs were widened
};

} // namespace cleave::onnx_import

#endif

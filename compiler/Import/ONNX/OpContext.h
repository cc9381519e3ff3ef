// The interface by which a handler reads the inputs and attributes of its node, defines the results, and reports
// failures.
//
// Example, the complete handler of ONNX Sqrt:
//   LogicalResult importSqrt(OpContext &op) { return op.result(op.emit.unary<SqrtOp>(op.value(0))); }
// Before a handler is called, the node has been checked against the standard's definition of its operator: required
// inputs are present, and inputs and attributes have the types of the definition.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPCONTEXT_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPCONTEXT_H

#include "compiler/Import/ONNX/Environment.h"
#include "compiler/Import/ONNX/File/FlatGraph.h"
#include "compiler/Import/ONNX/File/TensorReader.h"

#include "llvm/ADT/StringSet.h"

namespace cleave::onnx_import {

using llvm::LogicalResult;
using llvm::success;

// Properties of the import that handlers depend on.
struct Mode {
  bool training = false;
  int64_t batchNormGroups = 1;
  // True if the module is trained. This function may be its evaluation.
  bool inTrainedModule = false;
  // Running means of BatchNormalizations that keep their statistics (ExportNotes.h); null: of none.
  const llvm::StringSet<> *keptNorms = nullptr;
};

class OpContext {
public:
  OpContext(const FlatNode &node, Environment &environment, Emitter &emit, const Mode &mode, ErrorList &errors,
            std::vector<std::string> &notes, TensorReader &tensors, int64_t &nextSite)
      : emit(emit), mode(mode), tensors(tensors), node_(node), environment_(environment), errors_(errors),
        notes_(notes), nextSite_(nextSite) {}

  Emitter &emit;
  const Mode &mode;
  TensorReader &tensors; // reads tensors of attributes; some are in the model's external files

  llvm::StringRef name() const { return node_.proto->op_type(); }
  int64_t opset() const { return node_.opset(); }
  const Opsets &opsets() const { return *node_.opsets; } // for the graphs inside of the node
  std::string describe() const { return node_.describe(); }
  const onnx::NodeProto &node() const { return *node_.proto; }

  // Inputs.
  size_t numInputs() const { return size_t(node_.proto->input_size()); }
  bool has(size_t i) const;
  llvm::StringRef inputName(size_t i) const { return node_.proto->input(int(i)); }
  Value value(size_t i);
  llvm::SmallVector<Value> values();
  // After this call, value() returns half-precision inputs as f32, and results are rounded to the type of the first
  // input. So sums neither overflow nor round in between. No effect if the first input is not in half precision.
  void computeInF32();
  // Returns the input's literal, or null if its value is not known at import.
  const Literal *literal(size_t i);
  // Returns the elements of a sequence input, or null if the input is a tensor. The pointer is valid until a result is
  // defined.
  const Binding::Sequence *sequence(size_t i);
  // Returns the symbol of the state that the input is bound to, or an empty string if it is not a state.
  llvm::StringRef state(size_t i);
  Environment &environment() { return environment_; }

  // Attributes. The functions return the default, or nothing, if the node has no attribute of that name and type. If
  // the attribute's type is set, an absent value counts as zero, because writers of proto3 omit zeros.
  const onnx::AttributeProto *attribute(llvm::StringRef name) const;
  int64_t intAttr(llvm::StringRef name, int64_t otherwise) const;
  double floatAttr(llvm::StringRef name, double otherwise) const;
  std::optional<int64_t> intAttr(llvm::StringRef name) const;
  std::optional<double> floatAttr(llvm::StringRef name) const;
  std::string stringAttr(llvm::StringRef name, llvm::StringRef otherwise) const;
  std::optional<Shape> intsAttr(llvm::StringRef name) const;
  // Returns integers that are an attribute in old opsets, and input `i` in new ones. Fails if the input is not known at
  // import.
  llvm::FailureOr<std::optional<Shape>> ints(llvm::StringRef name, size_t i);
  // As ints(), for one number.
  llvm::FailureOr<std::optional<double>> number(llvm::StringRef name, size_t i);

  // Results.
  size_t numOutputs() const { return size_t(node_.proto->output_size()); }
  bool wants(size_t i) const { return i < numOutputs() && !node_.proto->output(int(i)).empty(); }
  llvm::StringRef outputName(size_t i) const { return node_.proto->output(int(i)); }
  LogicalResult result(Value value) { return result(0, value); }
  LogicalResult result(size_t i, Value value);
  LogicalResult result(Literal literal);
  void define(size_t i, Binding binding);

  // Reports "node 'a' (Reshape): <reason>" and returns failure.
  LogicalResult fail(const llvm::Twine &reason);
  void note(const llvm::Twine &text) { notes_.push_back(text.str()); }
  // Returns a number for the next random op. It is the same in every import of the same file.
  int64_t takeSite() { return nextSite_++; }

  // Checks for handlers. Each fails with a message.
  //
  // Returns the axis with negative values counted from the end (-1 is the last one). `axis` may be `rank` itself if
  // `inclusive`.
  llvm::FailureOr<int64_t> axis(int64_t axis, int64_t rank, bool inclusive = false);
  // Returns the listed axes in their order. Fails if one is listed twice. If there is no list, returns the first
  // `count` axes.
  llvm::FailureOr<Shape> axisList(const std::optional<Shape> &axes, int64_t rank, size_t count);
  // As axisList(), in ascending order.
  llvm::FailureOr<Shape> axes(llvm::ArrayRef<int64_t> axes, int64_t rank);
  // Returns the shape that all values broadcast to. Their element types must be equal.
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
  mlir::Type narrow_; // type of the results after computeInF32(), else null
};

} // namespace cleave::onnx_import

#endif

#include "compiler/Import/ONNX/File/DeclaredTypes.h"

#include "dialects/Cleave/IR/Messages.h"

#include <optional>

namespace cleave::onnx_import {
namespace {

// The type of a value that was imported; nothing of others.
mlir::RankedTensorType importedType(const Slot &slot) {
  if (slot.kind == Slot::Kind::Computed)
    return typeOf(slot.value);
  return slot.kind == Slot::Kind::Known ? slot.known->type() : mlir::RankedTensorType();
}

bool shapesAgree(const onnx::TypeProto::Tensor &declared, llvm::ArrayRef<int64_t> shape) {
  if (!declared.has_shape())
    return true;
  if (declared.shape().dim_size() != int(shape.size()))
    return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (const auto &dim = declared.shape().dim(int(i)); dim.has_dim_value() && dim.dim_value() != shape[i])
      return false;
  return true;
}

std::string declaredShape(const onnx::TypeProto::Tensor &declared) {
  std::string text;
  for (const auto &dim : declared.shape().dim())
    text += (text.empty() ? "" : ", ") + (dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param());
  return "[" + text + "]";
}

class Checker {
public:
  Checker(Environment &environment, mlir::MLIRContext *context, ErrorList &errors, std::string where = "")
      : environment(environment), context(context), errors(errors), where(std::move(where)) {}

  void check(const onnx::ValueInfoProto &info, llvm::StringRef what) {
    auto type = importedType(environment.slot(info.name()));
    if (!type || info.type().value_case() == onnx::TypeProto::VALUE_NOT_SET)
      return;
    if (!info.type().has_tensor_type())
      return errors.add(where + what + " " + quote(info.name()) + " is declared as no tensor, and is " +
                        describeType(type) + "; correct the declaration");
    const auto &declared = info.type().tensor_type();
    bool isDeclared = declared.elem_type() != onnx::TensorProto::UNDEFINED;
    if (isDeclared && elementTypeOf(context, declared.elem_type()) != type.getElementType())
      errors.add(where + what + " " + quote(info.name()) + " is declared with elements of type " +
                 dataTypeName(declared.elem_type()) + ", and is " + describeType(type) +
                 "; correct the declaration (onnx.checker.check_model(..., full_check=True) finds such ones)");
    else if (!shapesAgree(declared, type.getShape()) && ++wrongShapes == 1)
      firstWrong = (what + " " + quote(info.name()) + " is declared with the shape " + quote(declaredShape(declared)) +
                    ", and its node computes " + formatShape(type.getShape()))
                       .str();
  }

  // One line for all shapes.
  std::optional<std::string> note() const {
    if (wrongShapes == 0)
      return std::nullopt;
    std::string more = wrongShapes > 1 ? " (and " + std::to_string(wrongShapes - 1) + " more)" : "";
    return firstWrong + more + "; what is computed counts";
  }

private:
  Environment &environment;
  mlir::MLIRContext *context;
  ErrorList &errors;
  std::string where; // before each error
  std::string firstWrong;
  size_t wrongShapes = 0;
};

} // namespace

void checkDeclaredTypes(const onnx::GraphProto &graph, Environment &environment, mlir::MLIRContext *context,
                        ErrorList &errors, std::vector<std::string> &notes) {
  Checker checker(environment, context, errors);
  for (const auto &output : graph.output())
    checker.check(output, "output");
  for (const auto &info : graph.value_info())
    checker.check(info, "value");
  if (auto note = checker.note())
    notes.push_back(*note);
}

void checkDeclaredElements(const onnx::GraphProto &graph, const std::string &where, Environment &environment,
                           mlir::MLIRContext *context, ErrorList &errors) {
  Checker checker(environment, context, errors, where);
  for (const auto &input : graph.input())
    checker.check(input, "input");
  for (const auto &output : graph.output())
    checker.check(output, "output");
  for (const auto &info : graph.value_info())
    checker.check(info, "value");
}

} // namespace cleave::onnx_import

#include "compiler/Import/ONNX/File/DeclaredTypes.h"

#include "dialects/Cleave/IR/Messages.h"

#include <optional>

namespace cleave::onnx_import {
namespace {

// Returns the type of a value that was imported, or null for other bindings.
mlir::RankedTensorType importedType(const Binding &binding) {
  if (binding.kind == Binding::Kind::Computed)
    return typeOf(binding.value);
  return binding.kind == Binding::Kind::Known ? binding.known->type() : mlir::RankedTensorType();
}

// Returns the types of initializers. They are not read before they are used, and those that cannot be read are reported
// then.
llvm::StringMap<mlir::RankedTensorType> initializerTypes(const onnx::GraphProto &graph, mlir::MLIRContext *context) {
  llvm::StringMap<mlir::RankedTensorType> types;
  for (const auto &tensor : graph.initializer()) {
    Shape shape(tensor.dims().begin(), tensor.dims().end());
    if (mlir::Type element = elementTypeOf(context, tensor.data_type()); element && countElements(shape))
      types[tensor.name()] = mlir::RankedTensorType::get(shape, element);
  }
  return types;
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

  // Checks the declaration of a value that was imported.
  void check(const onnx::ValueInfoProto &info, llvm::StringRef what) {
    mlir::RankedTensorType type = importedType(environment.binding(info.name()));
    std::string wrong = type ? wrongShape(info, what, type) : "";
    if (!wrong.empty() && ++wrongShapes == 1)
      firstWrong = wrong + ", and its node computes " + formatShape(type.getShape());
  }

  // Checks the declaration of an initializer, by a graph input of its name or by value_info.
  void checkInitializer(const onnx::ValueInfoProto &info, mlir::RankedTensorType type, bool isInput) {
    std::string wrong = wrongShape(info, isInput ? "input" : "value", type);
    std::string is = ", and its initializer is " + formatShape(type.getShape());
    if (!wrong.empty() && isInput)
      errors.add(wrong + is + "; correct the declaration");
    else if (!wrong.empty() && ++wrongShapes == 1)
      firstWrong = wrong + is;
  }

  // Returns one line for all wrong shapes.
  std::optional<std::string> note() const {
    if (wrongShapes == 0)
      return std::nullopt;
    std::string more = wrongShapes > 1 ? " (and " + std::to_string(wrongShapes - 1) + " more)" : "";
    return firstWrong + more + "; the declaration does not count";
  }

private:
  // If the shape is wrong, returns for example "output 'y' is declared with the shape '[4]'". Reports a wrong element
  // type as an error.
  std::string wrongShape(const onnx::ValueInfoProto &info, llvm::StringRef what, mlir::RankedTensorType type) {
    std::string name = (what + " " + quote(info.name()) + " is declared ").str();
    if (info.type().value_case() == onnx::TypeProto::VALUE_NOT_SET)
      return "";
    if (!info.type().has_tensor_type()) {
      errors.add(where + name + "as no tensor, and is " + describeType(type) + "; correct the declaration");
      return "";
    }
    const auto &declared = info.type().tensor_type();
    bool isDeclared = declared.elem_type() != onnx::TensorProto::UNDEFINED;
    if (isDeclared && elementTypeOf(context, declared.elem_type()) != type.getElementType()) {
      errors.add(where + name + "with elements of type " + dataTypeName(declared.elem_type()) + ", and is " +
                 describeType(type) +
                 "; correct the declaration (onnx.checker.check_model(..., full_check=True) finds such ones)");
      return "";
    }
    return shapesAgree(declared, type.getShape()) ? "" : name + "with the shape " + quote(declaredShape(declared));
  }

  Environment &environment;
  mlir::MLIRContext *context;
  ErrorList &errors;
  std::string where; // put in front of each error
  std::string firstWrong;
  size_t wrongShapes = 0;
};

} // namespace

void checkDeclaredTypes(const onnx::GraphProto &graph, Environment &environment, mlir::MLIRContext *context,
                        ErrorList &errors, std::vector<std::string> &notes) {
  Checker checker(environment, context, errors);
  llvm::StringMap<mlir::RankedTensorType> initializers = initializerTypes(graph, context);
  for (const auto &input : graph.input()) // inputs without an initializer get their declared type
    if (auto type = initializers.lookup(input.name()))
      checker.checkInitializer(input, type, /*isInput=*/true);
  for (const auto &output : graph.output())
    checker.check(output, "output");
  for (const auto &info : graph.value_info())
    if (auto type = initializers.lookup(info.name()))
      checker.checkInitializer(info, type, /*isInput=*/false);
    else
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

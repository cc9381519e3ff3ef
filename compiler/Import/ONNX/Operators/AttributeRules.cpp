#include "compiler/Import/ONNX/Operators/AttributeRules.h"
#include "compiler/Import/ONNX/Literal.h"
#include "compiler/Import/ONNX/Support.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>

using namespace cleave::onnx_import;
using onnx::AttributeProto;

namespace {

// Attributes that are truth values, which the standard writes as the integers 0 and 1, in every operator. Some of them
// have one for each tensor.
constexpr llvm::StringLiteral kFlags[] = {"allowzero",
                                          "antialias",
                                          "ceil_mode",
                                          "count_include_pad",
                                          "detect_negative",
                                          "detect_positive",
                                          "exclude_outside",
                                          "exclusive",
                                          "fmod",
                                          "input_forget",
                                          "is_causal",
                                          "keepdims",
                                          "largest",
                                          "layout",
                                          "linear_before_reset",
                                          "new_axis",
                                          "noop_with_empty_axes",
                                          "reverse",
                                          "scan_input_directions",
                                          "scan_output_directions",
                                          "saturate",
                                          "select_last_index",
                                          "sorted",
                                          "storage_order",
                                          "training_mode",
                                          "transA",
                                          "transB",
                                          "upper"};

// Returns the types of the fields that have a value.
llvm::SmallVector<AttributeProto::AttributeType, 1> heldTypes(const AttributeProto &attribute) {
  std::pair<bool, AttributeProto::AttributeType> fields[] = {
      {attribute.has_i(), AttributeProto::INT},
      {attribute.has_f(), AttributeProto::FLOAT},
      {attribute.has_s(), AttributeProto::STRING},
      {attribute.has_t(), AttributeProto::TENSOR},
      {attribute.has_g(), AttributeProto::GRAPH},
      {attribute.has_tp(), AttributeProto::TYPE_PROTO},
      {attribute.has_sparse_tensor(), AttributeProto::SPARSE_TENSOR},
      {attribute.ints_size() != 0, AttributeProto::INTS},
      {attribute.floats_size() != 0, AttributeProto::FLOATS},
      {attribute.strings_size() != 0, AttributeProto::STRINGS},
      {attribute.tensors_size() != 0, AttributeProto::TENSORS},
      {attribute.graphs_size() != 0, AttributeProto::GRAPHS},
      {attribute.type_protos_size() != 0, AttributeProto::TYPE_PROTOS},
      {attribute.sparse_tensors_size() != 0, AttributeProto::SPARSE_TENSORS}};
  llvm::SmallVector<AttributeProto::AttributeType, 1> held;
  for (auto [isHeld, type] : fields)
    if (isHeld)
      held.push_back(type);
  return held;
}

// Checks the type of an attribute. If the writer has omitted it, as in IR version 1, it is the type of the field that
// has a value. A field of another type would be a value that nobody reads. (A field whose value is 0 may be omitted.)
std::string checkType(const AttributeProto &attribute, AttributeProto::AttributeType wanted) {
  auto held = heldTypes(attribute);
  auto name = [](AttributeProto::AttributeType type) { return AttributeProto::AttributeType_Name(type); };
  std::string label = "its attribute " + quote(attribute.name());
  bool isTyped = attribute.type() != AttributeProto::UNDEFINED;
  if (!isTyped && held.empty())
    return label + " has neither a type nor a value; expected " + name(wanted);
  auto type = isTyped ? attribute.type() : held[0];
  if (type != wanted)
    return label + " has the type " + name(type) + "; expected " + name(wanted);
  for (auto other : held)
    if (other != type)
      return label + " has the type " + name(type) + " and a value of type " + name(other) +
             "; expected one value, of its type";
  return "";
}

std::string checkValue(llvm::StringRef op, const AttributeProto &attribute) {
  llvm::StringRef name = attribute.name();
  if (llvm::is_contained(kFlags, name)) {
    Shape values(attribute.ints().begin(), attribute.ints().end());
    if (attribute.has_i())
      values.push_back(attribute.i());
    for (int64_t flag : values)
      if (flag != 0 && flag != 1)
        return "its attribute " + quote(name) + (attribute.has_i() ? " is " : " has ") + std::to_string(flag) +
               "; expected 0 or 1";
  }
  if (name == "epsilon" && !(attribute.f() >= 0 && std::isfinite(attribute.f())))
    return "its attribute " + quote(name) + " must be a number of 0 or more";
  auto isOneOf = [&](llvm::StringRef first, llvm::StringRef second) {
    return attribute.s() == first || attribute.s() == second
               ? std::string()
               : "its attribute " + quote(name) + " is " + quote(attribute.s()) + "; expected " + first.str() + " or " +
                     second.str();
  };
  if (name == "approximate")
    return isOneOf("none", "tanh");
  if (name == "mode" && op == "DepthToSpace")
    return isOneOf("DCR", "CRD");
  return "";
}

} // namespace

std::string cleave::onnx_import::checkAttributes(const onnx::NodeProto &node, const OperatorSchema &schema) {
  llvm::StringSet<> given;
  for (const AttributeProto &attribute : node.attribute()) {
    llvm::StringRef name = attribute.name();
    if (name.starts_with("__")) // the standard leaves these names to programs
      continue;
    auto wanted = schema.attributes.find(name);
    if (wanted == schema.attributes.end())
      return "it has no attribute " + quote(name) + " in the opset of the file";
    if (std::string reason = checkType(attribute, wanted->second.type); !reason.empty())
      return reason;
    if (std::string reason = checkValue(node.op_type(), attribute); !reason.empty())
      return reason;
    given.insert(name);
  }
  for (const auto &wanted : schema.attributes)
    if (wanted.second.isRequired && !given.contains(wanted.first()))
      return "its attribute " + quote(wanted.first()) + " is missing";
  return "";
}

#include "compiler/Import/ONNX/AttributeRules.h"
#include "compiler/Import/ONNX/Support.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace cleave::onnx_import;
using onnx::AttributeProto;

namespace {

// Truth values, which the standard writes as the integers 0 and 1.
constexpr llvm::StringLiteral kFlags[] = {
    "allowzero", "antialias", "ceil_mode", "count_include_pad", "detect_negative", "detect_positive",
    "exclude_outside", "exclusive", "fmod", "is_causal", "keepdims", "largest", "new_axis", "noop_with_empty_axes",
    "reverse", "saturate", "select_last_index", "sorted", "training_mode", "transA", "transB", "upper"};

// A name that some version of the standard gives two types (`p`, `seed`, `to`, `value`) is not in it.
const llvm::StringMap<AttributeProto::AttributeType> &knownTypes() {
  static const auto table = [] {
    llvm::StringMap<AttributeProto::AttributeType> types;
    for (llvm::StringRef name : kFlags)
      types[name] = AttributeProto::INT;
    for (llvm::StringRef name :
         {"axis", "batch_dims", "blocksize", "dtype", "end", "group", "hidden_size", "ignore_index", "input_forget",
          "k", "kv_num_heads", "layout", "linear_before_reset", "num_groups", "num_outputs", "q_num_heads",
          "qk_matmul_output_mode", "size", "softmax_precision", "start", "stash_type", "storage_order", "value_int"})
      types[name] = AttributeProto::INT;
    for (llvm::StringRef name :
         {"alpha", "beta", "bias", "clip", "cubic_coeff_a", "epsilon", "extrapolation_value", "gamma", "high", "lambd",
          "low", "mean", "momentum", "ratio", "scale", "softcap", "value_float"})
      types[name] = AttributeProto::FLOAT;
    for (llvm::StringRef name : {"axes", "dilations", "kernel_shape", "output_padding", "output_shape", "pads", "perm",
                                 "shape", "split", "strides", "value_ints"})
      types[name] = AttributeProto::INTS;
    for (llvm::StringRef name :
         {"approximate", "auto_pad", "coordinate_transformation_mode", "direction", "equation",
          "keep_aspect_ratio_policy", "mode", "nearest_mode", "reduction", "round_mode", "value_string"})
      types[name] = AttributeProto::STRING;
    return types;
  }();
  return table;
}

// The type that a writer left out, as those of IR version 1 do, is that of the field that it wrote.
AttributeProto::AttributeType typeOf(const AttributeProto &attribute) {
  if (attribute.type() != AttributeProto::UNDEFINED)
    return attribute.type();
  return attribute.has_i()            ? AttributeProto::INT
         : attribute.has_f()          ? AttributeProto::FLOAT
         : attribute.has_s()          ? AttributeProto::STRING
         : attribute.ints_size() != 0 ? AttributeProto::INTS
                                      : AttributeProto::UNDEFINED;
}

std::string checkAttribute(llvm::StringRef op, const AttributeProto &attribute) {
  llvm::StringRef name = attribute.name();
  auto wanted = knownTypes().find(name);
  if (wanted == knownTypes().end())
    return "";
  if (typeOf(attribute) != wanted->second)
    return "its attribute " + quote(name) + " has the type " + AttributeProto::AttributeType_Name(typeOf(attribute)) +
           "; expected " + AttributeProto::AttributeType_Name(wanted->second);
  if (llvm::is_contained(kFlags, name) && attribute.i() != 0 && attribute.i() != 1)
    return "its attribute " + quote(name) + " is " + std::to_string(attribute.i()) + "; expected 0 or 1";
  if (name == "epsilon" && !(attribute.f() >= 0 && std::isfinite(attribute.f())))
    return "its attribute " + quote(name) + " must be a number from 0";
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

std::string cleave::onnx_import::checkAttributes(const onnx::NodeProto &node) {
  for (const AttributeProto &attribute : node.attribute())
    if (std::string reason = checkAttribute(node.op_type(), attribute); !reason.empty())
      return reason;
  return "";
}

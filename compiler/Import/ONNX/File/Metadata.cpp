#include "compiler/Import/ONNX/File/Metadata.h"
#include "compiler/Import/ONNX/File/ModelFile.h"

#include <google/protobuf/unknown_field_set.h>

using google::protobuf::UnknownField;

// Calls `take` with each serialized entry of field `number`, whether the protobuf classes know the field or not. Stops
// when `take` returns true.
static void forEachEntry(const google::protobuf::Message &message, int number,
                         llvm::function_ref<bool(const std::string &)> take) {
  const auto *reflection = message.GetReflection();
  if (const auto *field = message.GetDescriptor()->FindFieldByNumber(number)) {
    if (!field->is_repeated()) {
      take(reflection->GetString(message, field));
      return;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i)
      if (take(reflection->GetRepeatedMessage(message, field, i).SerializeAsString()))
        return;
  }
  const auto &unknown = reflection->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i)
    if (unknown.field(i).number() == number && unknown.field(i).type() == UnknownField::TYPE_LENGTH_DELIMITED &&
        take(unknown.field(i).length_delimited()))
      return;
}

std::string cleave::onnx_import::findMetadata(const google::protobuf::Message &message, int number,
                                              llvm::function_ref<bool(llvm::StringRef)> isWanted) {
  std::string value;
  forEachEntry(message, number, [&](const std::string &bytes) {
    onnx::StringStringEntryProto entry;
    bool found = entry.ParseFromString(bytes) && isWanted(entry.key());
    if (found)
      value = entry.value();
    return found;
  });
  return value;
}

// Returns the text of the optional field `number`, or an empty string. If it occurs several times, the last one counts.
static std::string findText(const google::protobuf::Message &message, int number) {
  std::string text;
  forEachEntry(message, number, [&](const std::string &bytes) {
    text = bytes;
    return false;
  });
  return text;
}

std::vector<onnx::AttributeProto> cleave::onnx_import::defaultAttributes(const onnx::FunctionProto &function) {
  constexpr int kAttributeProto = 11; // of onnx.FunctionProto
  std::vector<onnx::AttributeProto> defaults;
  forEachEntry(function, kAttributeProto, [&](const std::string &bytes) {
    onnx::AttributeProto attribute;
    if (attribute.ParseFromString(bytes))
      defaults.push_back(std::move(attribute));
    return false;
  });
  return defaults;
}

static std::string keyOf(llvm::StringRef domain, llvm::StringRef name, llvm::StringRef overload) {
  return (cleave::onnx_import::canonicalDomain(domain) + "::" + name + (overload.empty() ? "" : "::") + overload).str();
}

std::string cleave::onnx_import::functionKey(const onnx::FunctionProto &function) {
  constexpr int kOverload = 13; // of onnx.FunctionProto
  return keyOf(function.domain(), function.name(), findText(function, kOverload));
}

std::string cleave::onnx_import::functionKey(const onnx::NodeProto &call) {
  constexpr int kOverload = 8; // of onnx.NodeProto
  return keyOf(call.domain(), call.op_type(), findText(call, kOverload));
}

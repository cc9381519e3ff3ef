#include "compiler/Import/ONNX/File/Metadata.h"
#include "compiler/Import/ONNX/File/ModelFile.h"

#include <google/protobuf/unknown_field_set.h>

std::string cleave::onnx_import::findMetadata(const google::protobuf::Message &message, int number,
                                              llvm::function_ref<bool(llvm::StringRef)> isWanted) {
  onnx::StringStringEntryProto entry;
  const auto *reflection = message.GetReflection();
  if (const auto *field = message.GetDescriptor()->FindFieldByNumber(number))
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      entry.ParseFromString(reflection->GetRepeatedMessage(message, field, i).SerializeAsString());
      if (isWanted(entry.key()))
        return entry.value();
    }
  const auto &unknown = reflection->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto &field = unknown.field(i);
    if (field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
        entry.ParseFromString(field.length_delimited()) && isWanted(entry.key()))
      return entry.value();
  }
  return "";
}

// The text of the optional field `number`; empty where there is none.
static std::string findText(const google::protobuf::Message &message, int number) {
  const auto *reflection = message.GetReflection();
  if (const auto *field = message.GetDescriptor()->FindFieldByNumber(number))
    return reflection->GetString(message, field);
  const auto &unknown = reflection->GetUnknownFields(message);
  std::string text; // as for a known field, the last one counts
  for (int i = 0; i < unknown.field_count(); ++i)
    if (unknown.field(i).number() == number &&
        unknown.field(i).type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      text = unknown.field(i).length_delimited();
  return text;
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

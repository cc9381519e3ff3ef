#include "compiler/Import/ONNX/File/Metadata.h"

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

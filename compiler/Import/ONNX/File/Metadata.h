// Reads fields that are newer than the protobuf classes of Linux distributions: the metadata_props of graphs and nodes,
// and the overloads and default attributes of functions. Those classes keep them as unknown fields.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_METADATA_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_METADATA_H

#include "compiler/Import/ONNX/File/Proto.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace cleave::onnx_import {

// Returns the value of the first entry of field `number` for whose key `isWanted` returns true, or an empty string.
std::string findMetadata(const google::protobuf::Message &message, int number,
                         llvm::function_ref<bool(llvm::StringRef)> isWanted);

// Returns the key of a function: (domain, name, overload). A call has the same key as the function that it calls.
std::string functionKey(const onnx::FunctionProto &function);
std::string functionKey(const onnx::NodeProto &call);

// Returns the attributes for which the function has a default (FunctionProto.attribute_proto), with their values.
std::vector<onnx::AttributeProto> defaultAttributes(const onnx::FunctionProto &function);

} // namespace cleave::onnx_import

#endif

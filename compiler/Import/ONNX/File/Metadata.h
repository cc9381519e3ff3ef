// Fields that are younger than the protobuf classes that Linux distributions carry: the metadata_props of graphs and
// nodes, and the overloads and default attributes of functions. Those classes keep them as unknown fields.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_METADATA_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_METADATA_H

#include "compiler/Import/ONNX/File/Proto.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace cleave::onnx_import {

// The value of the first entry of field `number` whose key is wanted; empty where there is none.
std::string findMetadata(const google::protobuf::Message &message, int number,
                         llvm::function_ref<bool(llvm::StringRef)> isWanted);

// A function of the file by its name: (domain, name, overload). The key of a call is that of the function it means.
std::string functionKey(const onnx::FunctionProto &function);
std::string functionKey(const onnx::NodeProto &call);

// The attributes that the function has a default for (FunctionProto.attribute_proto), each with its value.
std::vector<onnx::AttributeProto> defaultAttributes(const onnx::FunctionProto &function);

} // namespace cleave::onnx_import

#endif

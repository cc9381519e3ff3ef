// A parsed ONNX file: the protobuf message, after the checks on which every later step relies.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_MODELFILE_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_MODELFILE_H

#include "compiler/Import/ONNX/File/Proto.h"
#include "compiler/Import/ONNX/Support.h"

#include "llvm/ADT/StringMap.h"

#include <memory>

namespace cleave::onnx_import {

// The operator set versions of the default domain that are read.
constexpr int64_t kMinOpset = 13;
constexpr int64_t kMaxOpset = 27;
// The newest version of the file format (onnx.proto's IR_VERSION) that is read. A newer file may contain statements
// that Cleave would ignore.
constexpr int64_t kMaxIrVersion = 14;

using Opsets = llvm::StringMap<int64_t>; // version by domain

struct ModelFile {
  onnx::ModelProto proto;
  std::string directory; // of external data; empty: no external data are allowed
  Opsets opsets;
  llvm::StringMap<const onnx::FunctionProto *> functions; // by functionKey() (Metadata.h)
};

// Fails if the bytes are not an ONNX model, if the model has no graph or no outputs, if a function is defined twice, and
// if an operator set is too old or too new.
llvm::Expected<std::unique_ptr<ModelFile>> parseModel(llvm::StringRef bytes, llvm::StringRef directory);

// Fails if the operator set of the default domain is newer than the newest known one. `what` names its user in the
// message.
llvm::Error checkNewestOpset(const llvm::Twine &what, int64_t opset);

// Returns the domain's name. The default domain has two names.
inline llvm::StringRef canonicalDomain(llvm::StringRef domain) { return domain == "ai.onnx" ? "" : domain; }

} // namespace cleave::onnx_import

#endif

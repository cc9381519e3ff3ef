// An ONNX file as parsed: the protobuf message, checked for what every later step relies on.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_MODELFILE_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_MODELFILE_H

#include "compiler/Import/ONNX/File/Proto.h"
#include "compiler/Import/ONNX/Support.h"

#include "llvm/ADT/StringMap.h"

#include <memory>

namespace cleave::onnx_import {

// Operator set versions of the default domain that are read.
constexpr int64_t kMinOpset = 13;
constexpr int64_t kMaxOpset = 27;
// The newest version of the file format (onnx.proto's IR_VERSION) that is read. A newer one may say what is not looked at.
constexpr int64_t kMaxIrVersion = 13;

using Opsets = llvm::StringMap<int64_t>; // version by domain

struct ModelFile {
  onnx::ModelProto proto;
  std::string directory; // where external data are; empty: none allowed
  Opsets opsets;
};

// Fails on bytes that are no ONNX model, on a model without a graph, and on operator sets that are too old.
llvm::Expected<std::unique_ptr<ModelFile>> parseModel(llvm::StringRef bytes, llvm::StringRef directory);

// An error where `what` uses a newer operator set of the default domain than those that are known.
llvm::Error checkNewestOpset(const llvm::Twine &what, int64_t opset);

// The default domain goes by two names.
inline llvm::StringRef canonicalDomain(llvm::StringRef domain) { return domain == "ai.onnx" ? "" : domain; }

} // namespace cleave::onnx_import

#endif

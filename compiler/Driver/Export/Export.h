// `cleave export`: writes the weights of a checkpoint back to ONNX.
#ifndef CLEAVE_COMPILER_DRIVER_EXPORT_EXPORT_H
#define CLEAVE_COMPILER_DRIVER_EXPORT_EXPORT_H

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace cleave {

struct ExportRequest {
  std::string checkpoint; // a checkpoint, or a directory of checkpoints
  std::string model;      // the ONNX file whose weights are replaced
  std::string output;
  std::vector<std::string> outputs; // outputs of the model to keep (KeptOutputs.h); empty: all
};

// Writes the model with the weights of the checkpoint in place of its initializers. If they are larger than
// `embeddedLimit` (its default is well below protobuf's limit of 2 GiB), they are written to OUTPUT.data beside it.
llvm::Error exportCheckpoint(const ExportRequest &request, llvm::raw_ostream &out, uint64_t embeddedLimit = 1ull << 30);

} // namespace cleave

#endif

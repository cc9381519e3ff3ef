// Reads --mesh pp=N with --schedule and --stage-split, and writes attributes for the passes.
#ifndef CLEAVE_COMPILER_DRIVER_PIPELINEREQUEST_H
#define CLEAVE_COMPILER_DRIVER_PIPELINEREQUEST_H

#include "compiler/Driver/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace cleave {

struct PipelineRequest {
  std::string schedule;            // its name, or that in the file
  std::optional<std::string> text; // content of the file, if it is one
  int64_t stages = 1, chunks = 1;  // totals
  std::vector<int> rankOfChunk;
  bool splitsBackward = false; // gradients of inputs and of weights are computed separately
};

// Reads `NAME[,chunks=N]` or `file=PATH`. If the mesh has no axis pp, there is one stage. Errors name the option and
// say what would work.
llvm::Expected<PipelineRequest> readPipelineRequest(const CompileOptions &options);

// Adds the request to the module as attributes, for cut-model, split-backward and build-programs.
void requestPipeline(mlir::ModuleOp module, const PipelineRequest &request, const CompileOptions &options);

} // namespace cleave

#endif

// --mesh pp=N with --schedule and --stage-split: what the passes are asked for.
#ifndef CLEAVE_COMPILER_DRIVER_PIPELINEREQUEST_H
#define CLEAVE_COMPILER_DRIVER_PIPELINEREQUEST_H

#include "compiler/Driver/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace cleave {

struct PipelineRequest {
  std::string schedule;            // its name, or the file's
  std::optional<std::string> text; // of a file
  int64_t stages = 1, chunks = 1;  // in all
  std::vector<int> rankOfChunk;
  bool splitsBackward = false;     // it runs gradients of inputs and of weights apart
};

// Of `NAME[,chunks=N]` or `file=PATH`; one stage where the mesh has no axis pp. Errors name the option and say what
// would work.
llvm::Expected<PipelineRequest> readPipelineRequest(const CompileOptions &options);

// Writes it on the module, for cut-model, split-backward and build-programs.
void requestPipeline(mlir::ModuleOp module, const PipelineRequest &request, const CompileOptions &options);

} // namespace cleave

#endif

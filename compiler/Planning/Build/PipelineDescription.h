// Describes a pipeline as its module in kernels form states it: the chunks, the values that flow between them, and the
// schedule that `cleave.pipeline` asks for.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_PIPELINEDESCRIPTION_H
#define CLEAVE_COMPILER_PLANNING_BUILD_PIPELINEDESCRIPTION_H

#include "compiler/Pipeline/Schedule.h"
#include "compiler/Planning/Build/StageSplit.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace cleave::plan {

// The names of the value of an edge of the chunk graph, and of the gradient that comes back; empty if none does.
struct EdgeNames {
  std::string value, gradient;
};

struct PipelineDescription {
  StageAxis axis;
  llvm::StringRef axisName;
  int microBatches = 1;
  llvm::SmallVector<mlir::func::FuncOp> functions; // of chunks
  llvm::StringMap<mlir::Type> typeOf;              // of edges and gradients
  llvm::StringMap<std::string> tensorOf;           // their names for people (dialects/Cleave/IR/Reason.h)
  pipeline::ChunkGraph graph;
  std::vector<EdgeNames> edges; // in the order of graph.edges
  pipeline::Schedule schedule;

  unsigned stageOf(mlir::func::FuncOp function) const { return schedule.rankOfChunk[*chunkNumber(function.getName())]; }
};

// Fails, with an error, if the pipeline cannot be scheduled.
mlir::FailureOr<PipelineDescription> readPipeline(mlir::ModuleOp module);

// Reads only the axis of the stages. Fails, with an error, if the mesh does not have it.
mlir::FailureOr<StageAxis> readStageAxis(mlir::ModuleOp module, llvm::StringRef *name);

} // namespace cleave::plan

#endif

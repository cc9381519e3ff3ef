// Makes a function of each chunk of @model. The values that cross between chunks are named edges (StepFunctions.h).
#ifndef CLEAVE_COMPILER_TRAINING_CHUNKS_BUILDCHUNKS_H
#define CLEAVE_COMPILER_TRAINING_CHUNKS_BUILDCHUNKS_H

#include "compiler/Training/Chunks/ModelGraph.h"

namespace cleave {

// @model becomes @c0, @c1, ... The last chunk returns the results of split-loss.
void buildChunks(mlir::func::FuncOp model, const ModelGraph &graph, const pipeline::Cut &cut);

} // namespace cleave

#endif

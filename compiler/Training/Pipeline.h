// The order of the passes between the model level and the step level.
#ifndef CLEAVE_COMPILER_TRAINING_PIPELINE_H
#define CLEAVE_COMPILER_TRAINING_PIPELINE_H

#include "compiler/Training/TrainingOptions.h"

#include "mlir/Pass/PassManager.h"

namespace cleave {

// @model (and @model.eval) -> @c0.fwd, @c0.bwd, @update (and @evaluate); with micro-batches also @c0.fwd.first,
// @c0.bwd.first.
void buildTrainingPipeline(mlir::OpPassManager &manager, const TrainingOptions &options);

// @model -> @infer.
void buildInferencePipeline(mlir::OpPassManager &manager, const PrecisionOptions &precision = {},
                            bool fuseAttention = false, int64_t productMultiple = 1);

// Makes the passes, and `training-pipeline` with the options of the command line, known to cleave-opt and to plug-ins.
void registerTraining();

} // namespace cleave

#endif

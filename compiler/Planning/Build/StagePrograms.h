// The attributes that `build-programs` writes on functions for `build-plan`, if a pipeline's stages call bodies one
// after the other.
//
// A value that crosses bodies lies in a stage buffer (StageLists.h). Arguments and results of bodies name their stage
// buffers:
//
//   func.func @c1.fwd(%h {cleave.stage_buffer = "c0:0", cleave.frames = 2})
//       -> (tensor<8xf32> {cleave.stage_buffer = "c1.r0", cleave.frames = 1})
//
// A stage buffer with `cleave.stage_buffer_host` is in host memory (--offload activations). A body copies the values
// that it leaves there out, and the values that it reads from there in. Bodies state what they wait for before they
// first use a stage buffer, and what they record after they have used it:
//
//   cleave.waits   = [{event = "arrived c0:0", frames = 2, frame = 0, stage_buffer = "c0:0"}]   before its first use of the stage buffer
//   cleave.records = [{event = "used c0:0", frames = 2, frame = 0, stage_buffer = "c0:0"}]      after its last use of the stage buffer
//
// `frame` is relative to the frame of the running program.
//
// Entries declare all inputs of the model. An input is `cleave.absent` if the stage needs none of its bytes. An input
// that no stage needs belongs to the last one, so that a plan has the same inputs with and without stages.
//
// A body with `cleave.transfer` is one transfer, on the stream that it names: "send" or "recv" of an activation,
// "send.gradient" or "recv.gradient". If messages are slow, activations and gradients come in another order than on an
// idealized clock. In one stream, they would wait for each other.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_STAGEPROGRAMS_H
#define CLEAVE_COMPILER_PLANNING_BUILD_STAGEPROGRAMS_H

#include "dialects/Cleave/IR/Attributes.h"

namespace cleave::plan {

// The suffix of a chunk's function that gathers the values that all micro-batches of a step use, "c0.gather"
// (keep-gathers).
inline constexpr llvm::StringLiteral kGatherSuffix = ".gather";

// Checks three things. Every function has one block, and statically shaped tensors as arguments and results. The
// functions that it calls exist, and are called a number of times that a plan can state. No function calls itself,
// directly or through others. `build-plan` begins with this check, so code that follows calls after it terminates.
mlir::LogicalResult checkCalls(mlir::ModuleOp module);

} // namespace cleave::plan

#endif

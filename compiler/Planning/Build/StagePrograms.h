// What `build-programs` writes on functions for `build-plan`, where a pipeline's stages call bodies one after the
// other.
//
// A value that crosses bodies lies in a stage buffer (StageLists.h): arguments and results of bodies name theirs,
//
//   func.func @c1.fwd(%h {cleave.stage_buffer = "c0:0", cleave.frames = 2})
//       -> (tensor<8xf32> {cleave.stage_buffer = "c1.r0", cleave.frames = 1})
//
// A stage buffer of `cleave.stage_buffer_host` is in host memory (--offload activations): a body copies what it leaves
// there out to it, and in what it reads of it. Bodies say what they wait for before they begin to use a stage buffer,
// and what they record when they have used it:
//
//   cleave.waits   = [{event = "arrived c0:0", frames = 2, frame = 0, stage_buffer = "c0:0"}]   before its first use of the stage buffer
//   cleave.records = [{event = "used c0:0", frames = 2, frame = 0, stage_buffer = "c0:0"}]      after its last use of the stage buffer
//
// where `frame` is relative to that of the running program.
//
// Entries declare all inputs of the model; those of which a stage needs no bytes are `cleave.absent`. An input that no
// stage needs is the last one's, so that a plan has the same inputs with and without stages.
//
// A body with `cleave.transfer` is one transfer, on the stream that it names: "send" or "recv" of an activation,
// "send.gradient" or "recv.gradient". Where messages are slow, activations and gradients come in another order than on
// an idealized clock; in one stream they would wait for each other.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_STAGEPROGRAMS_H
#define CLEAVE_COMPILER_PLANNING_BUILD_STAGEPROGRAMS_H

#include "dialects/Cleave/IR/Attributes.h"

namespace cleave::plan {

// Of a chunk's function that gathers what all micro-batches of a step use, "c0.gather" (keep-gathers).
inline constexpr llvm::StringLiteral kGatherSuffix = ".gather";

// Every function has one block, and tensors of static shapes as arguments and results; what it calls is there, a number
// of times that a plan can say; and no function calls itself, directly or in a circle. `build-plan` begins with this
// check: who follows calls after it comes to an end.
mlir::LogicalResult checkCalls(mlir::ModuleOp module);

} // namespace cleave::plan

#endif

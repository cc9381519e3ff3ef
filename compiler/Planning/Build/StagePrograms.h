// What `build-programs` writes on functions for `build-plan`, where a pipeline's stages call bodies one after the
// other.
//
// A value that crosses bodies lies in a slot (StageLists.h): arguments and results of bodies name theirs,
//
//   func.func @c1.fwd(%h {cleave.slot = "c0:0", cleave.frames = 2}) -> (tensor<8xf32> {cleave.slot = "c1.r0",
//   cleave.frames = 1})
//
// A slot of `cleave.slot_host` is in host memory (--offload activations): a body copies what it leaves there out to it,
// and in what it reads of it. Bodies say what they wait for before they begin to use a slot, and what they record when
// they have used it:
//
//   cleave.waits   = [{event = "arrived c0:0", frames = 2, frame = 0}]     frame: relative to the running program's
//   cleave.records = [{event = "used c0:0", frames = 2, slot = "c0:0"}]    after the last use of that slot
//
// Entries declare all inputs of the model; those of which a stage needs no bytes are `cleave.absent`.
//
// A body with `cleave.transfer` is one transfer, on the stream that it names: "send" or "recv" of an activation,
// "send.gradient" or "recv.gradient". Where messages are slow, activations and gradients come in another order than on
// an idealized clock; in one stream they would wait for each other.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_STAGEPROGRAMS_H
#define CLEAVE_COMPILER_PLANNING_BUILD_STAGEPROGRAMS_H

#include "llvm/ADT/StringRef.h"

namespace cleave::plan {

inline constexpr llvm::StringLiteral kPipelineAttr = "cleave.pipeline"; // of the module: {schedule, axis[, file]}
// Of a chunk's function that gathers what all micro-batches of a step use, "c0.gather" (keep-gathers).
inline constexpr llvm::StringLiteral kGatherSuffix = ".gather";
inline constexpr llvm::StringLiteral kSlotAttr = "cleave.slot", kFramesAttr = "cleave.frames";
inline constexpr llvm::StringLiteral kSlotHostAttr = "cleave.slot_host";
inline constexpr llvm::StringLiteral kAbsentAttr = "cleave.absent";
// Of a state that several stages have: what one of them does with its bytes alone is not done.
inline constexpr llvm::StringLiteral kSharedAttr = "cleave.shared";
inline constexpr llvm::StringLiteral kWaitsAttr = "cleave.waits", kRecordsAttr = "cleave.records";
// Of a send or a receive in the update, of what the ranks at coordinate 0 of these axes alone have (RankKinds.h):
// split-kinds takes it away from all others.
inline constexpr llvm::StringLiteral kOwnerAxesAttr = "cleave.owner_axes";
inline constexpr llvm::StringLiteral kTransferAttr = "cleave.transfer", kChannelAttr = "cleave.channel";

} // namespace cleave::plan

#endif

// What `cut-model` and the driver tell each other on the module while the driver looks for a cut that fits a memory
// limit (compiler/Driver/StageFit.h).
#ifndef CLEAVE_COMPILER_TRAINING_CHUNKS_CUTMODEL_H
#define CLEAVE_COMPILER_TRAINING_CHUNKS_CUTMODEL_H

#include "llvm/ADT/StringRef.h"

namespace cleave {

// To the pass: bytes of a stage; {states, activations} of each stage, bytes that a plan needs for a byte of the
// estimate; or the first nodes of the stages, where they have been chosen. The pass takes them away.
inline constexpr llvm::StringLiteral kStageLimitAttr = "cleave.stage_limit", kStageScalesAttr = "cleave.stage_scales",
                                     kStageBeginsAttr = "cleave.stage_begins";
// From the pass, besides the first nodes, where the driver has set it: {states, activations} of each stage in bytes, as
// estimated.
inline constexpr llvm::StringLiteral kStageBytesAttr = "cleave.stage_bytes";

} // namespace cleave

#endif

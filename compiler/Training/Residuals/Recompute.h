// Chooses the blocks (Blocks.h) whose values the backward pass computes again instead of keeping them.
//
//   never        nothing is computed again: every value that the backward pass reads is kept, to compare numbers with
//   none         only ops that are cheap (ResidualChoice.h)
//   blocks       every block: only values that cross from block to block are kept
//   every=N      every N-th block: blocks N, 2N, ... counted from 1 (every=1 is blocks); as torchtitan counts
//   first=N      the first N blocks; as Megatron's "block" method
//   segments=N   every block, in segments of N blocks: values between segments are kept; as DeepSpeed's interval
//                and Megatron's "uniform" method
//   auto         the cheapest of these that fits the memory limit: the driver tries one after the other
//
// The last block is never computed again if nothing follows it, because its backward pass begins at once.
//
// A second option chooses the micro-batches (as `checkpoint` of torchgpipe and fairscale):
//
//   always       all
//   except-last  all but the last of a step, whose backward pass follows at once: one frame of all its values is kept,
//                and no time is spent to compute them again
//   never        none
#ifndef CLEAVE_COMPILER_TRAINING_RESIDUALS_RECOMPUTE_H
#define CLEAVE_COMPILER_TRAINING_RESIDUALS_RECOMPUTE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cleave {

enum class RecomputeKind { Never, None, Every, First, Segments, Auto };

enum class RecomputeWhen { Always, ExceptLast, Never };

struct Recompute {
  RecomputeKind kind = RecomputeKind::None;
  int64_t count = 0; // N; 0 for never, none and auto
};

// These read and print the texts above. They do not check that a model has enough blocks.
llvm::Expected<Recompute> parseRecompute(llvm::StringRef text);
std::string printRecompute(const Recompute &recompute);
llvm::Expected<RecomputeWhen> parseRecomputeWhen(llvm::StringRef text);

// Returns for each block the number of the segment that it is computed again with, or -1. `recompute` must not be auto.
std::vector<int> recomputedSegments(const Recompute &recompute, int64_t blocks);

} // namespace cleave

#endif

// Which blocks (Blocks.h) the backward pass computes again instead of keeping what they make.
//
//   never        nothing at all: every value that the backward pass reads is kept, to compare numbers with
//   none         nothing beyond what is cheap anyway (ResidualChoice.h)
//   blocks       every block: only what crosses from block to block is kept
//   every=N      every N-th block: blocks N, 2N, ... counted from 1 (every=1 is blocks); as torchtitan counts
//   first=N      the first N blocks; as Megatron's "block" method
//   segments=N   every block, N of them at a time: kept is what crosses from segment to segment; as DeepSpeed's
//                interval and Megatron's "uniform" method
//   auto         the cheapest of these that fits the memory limit: the driver asks for one after the other
//
// The last block is never computed again where nothing follows it: its backward pass begins at once.
//
// In which micro-batches (as torchgpipe's and fairscale's `checkpoint`):
//
//   always       in all
//   except-last  in all but the last of a step, after which nothing is waited for: one frame of everything is kept, and
//                no time is lost for it
//   never        in none
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

// The texts above. Whether a model has that many blocks is not asked here.
llvm::Expected<Recompute> parseRecompute(llvm::StringRef text);
std::string printRecompute(const Recompute &recompute);
llvm::Expected<RecomputeWhen> parseRecomputeWhen(llvm::StringRef text);

// For each block the segment that is computed again as one, or -1. Not for auto.
std::vector<int> recomputedSegments(const Recompute &recompute, int64_t blocks);

} // namespace cleave

#endif

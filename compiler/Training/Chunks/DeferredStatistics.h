// Batch norm's running statistics, updated once a step and not in every micro-batch (`--batch-norm local-deferred`, as
// torchgpipe's and fairscale's DeferredBatchNorm).
//
// Each micro-batch is normalized by its own statistics in both cases. Let m be the mean and v the (biased) variance of
// one of k micro-batches of n values each, and r the running mean. Micro-batches add up
//
//   sum = sum of (m - r)          squares = sum of (v + (m - r)^2)
//
// and the update takes of all N = k * n values together
//
//   mean = r + sum/k              variance = (squares/k - (sum/k)^2) * N/(N-1)
//
// which are those of one batch that is not cut into micro-batches, and as there the running variance is the unbiased
// one (DeferredBatchNorm takes the biased one). Sums of differences from r lose no digits where means are large.
//
//   running mean' = momentum * r + (1 - momentum) * mean         and so the variance
//
// The importer marks what has running statistics; `defer-statistics` makes the sums, or takes the marks away;
// build-update updates.
#ifndef CLEAVE_COMPILER_TRAINING_CHUNKS_DEFERREDSTATISTICS_H
#define CLEAVE_COMPILER_TRAINING_CHUNKS_DEFERREDSTATISTICS_H

#include "dialects/Cleave/IR/RunningStatistics.h"

namespace cleave {

// On the state of a running mean whose layer is deferred: the marks, how many `terms` a step adds up, and the states of
// the sums, `sum` and `squares`.
inline constexpr llvm::StringLiteral kDeferredAttr = "cleave.deferred";

} // namespace cleave

#endif

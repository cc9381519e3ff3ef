// Computes the bound batch from the global batch, the ranks and the micro-batches.
#ifndef CLEAVE_COMPILER_DRIVER_BATCH_H
#define CLEAVE_COMPILER_DRIVER_BATCH_H

#include "compiler/Driver/Options.h"

#include "llvm/Support/Error.h"

namespace cleave {

// Returns the bound batch for the value of --global-batch. Fails, naming the divisor, unless the global batch is a
// multiple of data ranks times micro-batches.
llvm::Expected<int64_t> deriveBoundBatch(const CompileOptions &options);

} // namespace cleave

#endif

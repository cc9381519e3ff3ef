// The batch arithmetic that every command prints: bound batch, ranks, micro-batches, global batch.
#ifndef CLEAVE_COMPILER_DRIVER_BATCH_H
#define CLEAVE_COMPILER_DRIVER_BATCH_H

#include "compiler/Driver/Options.h"

#include "llvm/Support/Error.h"

namespace cleave {

// The samples of one rank and micro-batch that --global-batch asks for. Fails, naming the divisor, unless the
// global batch is a multiple of data ranks times micro-batches.
llvm::Expected<int64_t> deriveBoundBatch(const CompileOptions &options);

} // namespace cleave

#endif

#include "compiler/Driver/Batch.h"

#include "compiler/Support/Usage.h"

using namespace cleave;

llvm::Expected<int64_t> cleave::deriveBoundBatch(const CompileOptions &options) {
  int64_t parts = options.dataRanks() * options.microBatches;
  if (*options.globalBatch % parts == 0)
    return *options.globalBatch / parts;
  return usageError("--global-batch", llvm::Twine(*options.globalBatch) + " is not a multiple of " +
                                          llvm::Twine(parts) + " (" + llvm::Twine(options.dataRanks()) +
                                          (options.dataRanks() == 1 ? " data rank x " : " data ranks x ") +
                                          llvm::Twine(options.microBatches) +
                                          (options.microBatches == 1 ? " micro-batch)" : " micro-batches)") +
                                          "; give a multiple, such as " +
                                          llvm::Twine((*options.globalBatch / parts + 1) * parts));
}

// The values of --batch-norm.
#ifndef CLEAVE_COMPILER_DRIVER_BATCHNORM_H
#define CLEAVE_COMPILER_DRIVER_BATCHNORM_H

#include "llvm/ADT/StringRef.h"

namespace cleave {

struct BatchNormRequest {
  enum class Over { Rank, AllRanks, None } over = Over::Rank; // the samples that batch norm normalizes over
  bool isDeferred = false; // running statistics are updated once a step, not once a micro-batch

  // Returns the number of groups of samples for this number of data ranks.
  int64_t groups(int64_t dataRanks) const { return over == Over::None ? 0 : over == Over::AllRanks ? 1 : dataRanks; }
};

// The command line must have checked the word: local | sync | frozen, and the first two with "-deferred".
inline BatchNormRequest parseBatchNorm(llvm::StringRef word) {
  BatchNormRequest request;
  request.isDeferred = word.consume_back("-deferred");
  request.over = word == "frozen" ? BatchNormRequest::Over::None
                 : word == "sync" ? BatchNormRequest::Over::AllRanks
                                  : BatchNormRequest::Over::Rank;
  return request;
}

} // namespace cleave

#endif

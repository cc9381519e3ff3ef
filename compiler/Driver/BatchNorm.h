// The words of --batch-norm.
#ifndef CLEAVE_COMPILER_DRIVER_BATCHNORM_H
#define CLEAVE_COMPILER_DRIVER_BATCHNORM_H

#include "llvm/ADT/StringRef.h"

namespace cleave {

struct BatchNormRequest {
  enum class Over { Rank, AllRanks, None } over = Over::Rank; // whose samples a batch norm normalizes by
  bool isDeferred = false; // running statistics move once a step, not in each micro-batch

  // The groups of samples of that many data ranks.
  int64_t groups(int64_t dataRanks) const { return over == Over::None ? 0 : over == Over::AllRanks ? 1 : dataRanks; }
};

// The command line has checked the word: local | sync | frozen, and the first two with "-deferred".
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

// llvm::Error, which libraries return, as MLIR diagnostics, which passes give.
#ifndef CLEAVE_COMPILER_TRAINING_DIAGNOSE_H
#define CLEAVE_COMPILER_TRAINING_DIAGNOSE_H

#include "mlir/IR/Operation.h"
#include "llvm/Support/Error.h"

namespace cleave {

// The value, or its error as a diagnostic at `op`.
template <typename T> mlir::FailureOr<T> orDiagnose(mlir::Operation *op, llvm::Expected<T> value) {
  if (value)
    return std::move(*value);
  return op->emitError(llvm::toString(value.takeError())), mlir::failure();
}

} // namespace cleave

#endif

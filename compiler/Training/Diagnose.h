// Turns an llvm::Error, which libraries return, into an MLIR diagnostic, which passes emit. The diagnostic of a usage
// error (compiler/Support/Usage.h) has a mark, so that the driver recognizes it.
#ifndef CLEAVE_COMPILER_TRAINING_DIAGNOSE_H
#define CLEAVE_COMPILER_TRAINING_DIAGNOSE_H

#include "compiler/Support/Usage.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace cleave {

inline constexpr llvm::StringLiteral kUsageMark = "usage";

// Emits the error as a diagnostic at `op`, and returns a failure. Without an error it returns a success.
inline mlir::LogicalResult diagnose(mlir::Operation *op, llvm::Error error) {
  if (!error)
    return mlir::success();
  mlir::InFlightDiagnostic diagnostic = op->emitError();
  if (isUsageError(error))
    diagnostic.getUnderlyingDiagnostic()->getMetadata().emplace_back(llvm::StringRef(kUsageMark));
  return diagnostic << llvm::toString(std::move(error));
}

inline bool isUsageError(mlir::Diagnostic &diagnostic) {
  return llvm::any_of(diagnostic.getMetadata(), [](const mlir::DiagnosticArgument &argument) {
    return argument.getKind() == mlir::DiagnosticArgument::DiagnosticArgumentKind::String &&
           argument.getAsString() == kUsageMark;
  });
}

// Returns the value, or emits its error as a diagnostic at `op`.
template <typename T> mlir::FailureOr<T> orDiagnose(mlir::Operation *op, llvm::Expected<T> value) {
  if (value)
    return std::move(*value);
  return diagnose(op, value.takeError());
}

} // namespace cleave

#endif

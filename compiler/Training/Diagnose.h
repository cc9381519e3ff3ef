// llvm::Error, which libraries return, as MLIR diagnostics, which passes give. A usage error (compiler/Support/Usage.h)
// stays one: its diagnostic has a mark, by which the driver knows it.
#ifndef CLEAVE_COMPILER_TRAINING_DIAGNOSE_H
#define CLEAVE_COMPILER_TRAINING_DIAGNOSE_H

#include "compiler/Support/Usage.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace cleave {

inline constexpr llvm::StringLiteral kUsageMark = "usage";

// The error, if there is one, as a diagnostic at `op`; then a failure.
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

// The value, or its error as a diagnostic at `op`.
template <typename T> mlir::FailureOr<T> orDiagnose(mlir::Operation *op, llvm::Expected<T> value) {
  if (value)
    return std::move(*value);
  return diagnose(op, value.takeError());
}

} // namespace cleave

#endif

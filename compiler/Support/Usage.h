// Mistakes in what the user asked for, apart from work that failed: a type of error of their own, for which the command
// line leaves with 2, not 1. Their messages begin with the option.
#ifndef CLEAVE_COMPILER_SUPPORT_USAGE_H
#define CLEAVE_COMPILER_SUPPORT_USAGE_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <string>

namespace cleave {

class UsageError : public llvm::ErrorInfo<UsageError> {
public:
  explicit UsageError(const llvm::Twine &text) : text(text.str()) {}
  void log(llvm::raw_ostream &out) const override { out << text; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  inline static char ID = 0;

private:
  std::string text;
};

// "OPTION: MESSAGE", where `option` is written as the user does: "--mesh".
inline llvm::Error usageError(const llvm::Twine &option, const llvm::Twine &message) {
  return llvm::make_error<UsageError>(option + ": " + message);
}

// Whether an error is one of those, or has one among several.
inline bool isUsageError(const llvm::Error &error) {
  bool result = false;
  llvm::visitErrors(error, [&](const llvm::ErrorInfoBase &one) { result |= one.isA<UsageError>(); });
  return result;
}

} // namespace cleave

#endif

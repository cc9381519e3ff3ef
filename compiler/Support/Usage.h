// An error type for mistakes in the user's request, as opposed to work that has failed. For it, the command line ends
// with exit code 2 instead of 1. The messages begin with the name of the option.
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

// Makes the message "OPTION: MESSAGE". `option` is written as the user writes it: "--mesh".
inline llvm::Error usageError(const llvm::Twine &option, const llvm::Twine &message) {
  return llvm::make_error<UsageError>(option + ": " + message);
}

// True if the error is a UsageError, or a list that contains one.
inline bool isUsageError(const llvm::Error &error) {
  bool result = false;
  llvm::visitErrors(error, [&](const llvm::ErrorInfoBase &one) { result |= one.isA<UsageError>(); });
  return result;
}

} // namespace cleave

#endif

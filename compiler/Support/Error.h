// Errors of the compiler's libraries: llvm::Error with a message for the user, made in one place.
#ifndef CLEAVE_COMPILER_SUPPORT_ERROR_H
#define CLEAVE_COMPILER_SUPPORT_ERROR_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

namespace cleave {

// `message` says what is wrong, where, what was expected and what to do. It is printed as it is.
inline llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

} // namespace cleave

#endif

// Turns a status of the runtime into an error of the compiler's libraries.
#ifndef CLEAVE_COMPILER_SUPPORT_STATUSERROR_H
#define CLEAVE_COMPILER_SUPPORT_STATUSERROR_H

#include "compiler/Support/Error.h"
#include "runtime/base/Status.h"

namespace cleave {

inline llvm::Error toError(const rt::Status &status) {
  return status.isOk() ? llvm::Error::success() : makeError(status.message());
}

} // namespace cleave

#endif

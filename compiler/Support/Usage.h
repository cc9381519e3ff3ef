// Mistakes in what the user asked for, apart from work that failed: their messages begin with the option, and the
// command line leaves with 2 for them, not 1.
#ifndef CLEAVE_COMPILER_SUPPORT_USAGE_H
#define CLEAVE_COMPILER_SUPPORT_USAGE_H

#include "compiler/Support/Error.h"

namespace cleave {

// "OPTION: MESSAGE", where `option` is written as the user does: "--mesh".
inline llvm::Error usageError(const llvm::Twine &option, const llvm::Twine &message) {
  return makeError(option + ": " + message);
}

// Whether a message is one of those, whichever library has written it.
inline bool isUsageError(llvm::StringRef message) { return message.starts_with("-"); }

} // namespace cleave

#endif

// The mistakes in registrations of plug-ins. A plug-in registers what it has while its library is loaded, where nothing
// can be reported. So each registry keeps its mistakes until the compiler asks for them.
#ifndef CLEAVE_COMPILER_SUPPORT_MISTAKES_H
#define CLEAVE_COMPILER_SUPPORT_MISTAKES_H

#include "compiler/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

#include <string>
#include <utility>
#include <vector>

namespace cleave {

// Returns the mistakes as one error, one a line, and forgets them. Returns success if there are none.
inline llvm::Error takeMistakes(std::vector<std::string> &mistakes) {
  std::vector<std::string> taken = std::exchange(mistakes, {});
  if (taken.empty())
    return llvm::Error::success();
  return makeError(llvm::join(taken, "\n"));
}

} // namespace cleave

#endif

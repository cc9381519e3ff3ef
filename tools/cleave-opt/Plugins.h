// Loads plug-ins before the options are read.
#ifndef CLEAVE_TOOLS_CLEAVE_OPT_PLUGINS_H
#define CLEAVE_TOOLS_CLEAVE_OPT_PLUGINS_H

#include "llvm/Support/Error.h"

#include <vector>

namespace mlir {
class DialectRegistry;
}

namespace cleave {

// Loads the libraries of --load-pass-plugin: their passes, and their dialects if they have some, as `cleave compile`
// does. Returns the other arguments with a null pointer at the end. MLIR itself loads a library while it reads the
// options, too late for the names of its passes to be options, and goes on if it cannot load one.
llvm::Expected<std::vector<char *>> takePlugins(std::vector<char *> arguments, mlir::DialectRegistry &registry);

} // namespace cleave

#endif

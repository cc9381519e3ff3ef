// Whether -o can be written is asked before the work, not after it: `compile` and `export`.
#ifndef CLEAVE_COMPILER_DRIVER_OUTPUTPATH_H
#define CLEAVE_COMPILER_DRIVER_OUTPUTPATH_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace cleave {

// Fails on a directory, a name in a directory that is not there or cannot be written to, a device, and a name that is too
// long for the files beside the output: temporary ones, and the folder of weights.
llvm::Error checkOutputPath(llvm::StringRef path);

} // namespace cleave

#endif

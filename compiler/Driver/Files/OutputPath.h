// Checks before the work of `compile` and `export` whether -o can be written.
#ifndef CLEAVE_COMPILER_DRIVER_FILES_OUTPUTPATH_H
#define CLEAVE_COMPILER_DRIVER_FILES_OUTPUTPATH_H

#include "compiler/Driver/Options.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace cleave {

// Fails if the path is a directory or a device, if its directory does not exist or is not writable, or if its name is
// too long for the files beside the output: temporary files, and the folder of weights.
llvm::Error checkOutputPath(llvm::StringRef path);

// Fails if the name of the output of `compile` is usual for another kind of file, as in `-o a.so` without
// --emit shared.
llvm::Error checkOutputName(llvm::StringRef path, Emit emit);

// Creates the directory of --dump or --dump-phases (`option`) if it is named. Fails if it cannot be created or written
// to, or if it is the output itself.
llvm::Error makeDumpDirectory(llvm::StringRef option, llvm::StringRef directory, llvm::StringRef output);

} // namespace cleave

#endif

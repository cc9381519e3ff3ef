// A library that is loaded is mapped: what its headers name beyond the file's end is a signal when it is touched, and no
// error. So a file that was copied in part is told before.
#ifndef CLEAVE_COMPILER_DRIVER_PLUGINFILE_H
#define CLEAVE_COMPILER_DRIVER_PLUGINFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace cleave {

// Fails where the file is an ELF file whose segments or section headers do not lie in it. Other files are the loader's.
llvm::Error checkWholeLibrary(llvm::StringRef path);

} // namespace cleave

#endif

// Checks a library before it is loaded. A library is mapped. If its headers name bytes beyond the file's end, an access
// to them raises a signal and not an error. So a file that was copied incompletely is reported before.
#ifndef CLEAVE_COMPILER_DRIVER_PLUGINFILE_H
#define CLEAVE_COMPILER_DRIVER_PLUGINFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace cleave {

// Fails if the file is an ELF file whose segments or section headers are not all inside it. Other files are left to the
// loader.
llvm::Error checkWholeLibrary(llvm::StringRef path);

} // namespace cleave

#endif

// Writes the C header beside an object file or a shared library: NAME.h declares cleave_model_NAME.
#ifndef CLEAVE_COMPILER_DRIVER_FILES_MODELHEADER_H
#define CLEAVE_COMPILER_DRIVER_FILES_MODELHEADER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace cleave {

// Returns NAME, a C identifier that is derived from the artefact's name.
std::string modelIdentifier(llvm::StringRef output);
std::string modelHeaderPath(llvm::StringRef output);
llvm::Error writeModelHeader(llvm::StringRef output);
// Fails if there is a file of that name that Cleave has not written.
llvm::Error checkModelHeader(llvm::StringRef output);

} // namespace cleave

#endif

// The C header that stands beside an object file or a shared library: NAME.h declares cleave_model_NAME.
#ifndef CLEAVE_COMPILER_DRIVER_MODELHEADER_H
#define CLEAVE_COMPILER_DRIVER_MODELHEADER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace cleave {

// NAME: a C identifier made of the artefact's name.
std::string modelIdentifier(llvm::StringRef output);
std::string modelHeaderPath(llvm::StringRef output);
llvm::Error writeModelHeader(llvm::StringRef output);
// An error where a file of another's is in its place.
llvm::Error checkModelHeader(llvm::StringRef output);

} // namespace cleave

#endif

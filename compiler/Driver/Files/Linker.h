// Links the emitted objects to the requested artefact, with the C++ compiler driver of the machine.
#ifndef CLEAVE_COMPILER_DRIVER_FILES_LINKER_H
#define CLEAVE_COMPILER_DRIVER_FILES_LINKER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace cleave {

enum class LinkKind { Executable, Shared, Object };

// Links `objects` to `output`: an executable or shared library with the runtime of this installation, or one
// relocatable object without it. `needs` is the file of the installation that lists the libraries to link
// (Target::linkNeeds). The output appears complete or not at all.
llvm::Error linkArtefact(LinkKind kind, llvm::ArrayRef<std::string> objects, llvm::StringRef needs,
                         llvm::StringRef output);

// Returns the directory with libcleave_rt.a: relative to the running program (a build tree: ../lib), or
// $CLEAVE_HOME/lib.
llvm::Expected<std::string> findRuntimeLibraries();

} // namespace cleave

#endif

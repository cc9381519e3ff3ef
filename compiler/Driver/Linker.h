// Turns the emitted object into what the user asked for, with the machine's own C++ compiler driver.
#ifndef CLEAVE_COMPILER_DRIVER_LINKER_H
#define CLEAVE_COMPILER_DRIVER_LINKER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace cleave {

enum class LinkKind { Executable, Shared, Object };

// Links `objects` into `output`: an executable or shared library with the runtime of this installation, or one
// relocatable object without it. `needs` is the file of that installation which lists the libraries that go with it
// (Target::linkNeeds). The output appears whole or not at all.
llvm::Error linkArtefact(LinkKind kind, llvm::ArrayRef<std::string> objects, llvm::StringRef needs,
                         llvm::StringRef output);

// The directory that holds libcleave_rt.a: beside the running program (a build tree: ../lib), or $CLEAVE_HOME/lib.
llvm::Expected<std::string> findRuntimeLibraries();

} // namespace cleave

#endif

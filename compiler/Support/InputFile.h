// Reads a file that the user has named, whatever kind of file it is.
//
// A name may lead to a directory, to a device (/dev/zero has no end, a terminal waits for input), or to a pipe. A pipe
// with a writer is read to its end, so that `cleave compile <(unzip -p model.zip)` works. A pipe without a writer would
// keep the reader waiting forever, and is refused.
#ifndef CLEAVE_COMPILER_SUPPORT_INPUTFILE_H
#define CLEAVE_COMPILER_SUPPORT_INPUTFILE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace cleave {

// Returns the file's bytes, mapped if possible. Errors name the kind of file, and `expected`, such as "an ONNX model".
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readInputFile(llvm::StringRef path, llvm::StringRef expected);

// Fails with the same words if the path leads nowhere, or to something that cannot be such a file. Opens nothing.
llvm::Error checkInputFile(llvm::StringRef path, llvm::StringRef expected);

// True if the path leads to a regular file. Files that another library opens must be regular.
bool isRegularFile(llvm::StringRef path);

} // namespace cleave

#endif

// Reading a file that the user named, whatever lies there.
//
// A name may lead to a directory, a device (/dev/zero has no end, a terminal waits for somebody to type), or a pipe. A pipe
// that a program writes into is read to its end, as `cleave compile <(unzip -p model.zip)` wants it; one without a writer
// would keep the reader waiting for ever and is refused.
#ifndef CLEAVE_COMPILER_SUPPORT_INPUTFILE_H
#define CLEAVE_COMPILER_SUPPORT_INPUTFILE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace cleave {

// The file's bytes, mapped where they can be. Errors say what the path is, and `expected`: "an ONNX model".
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readInputFile(llvm::StringRef path, llvm::StringRef expected);

// Whether the path leads to a regular file: what another library opens must be one.
bool isRegularFile(llvm::StringRef path);

} // namespace cleave

#endif

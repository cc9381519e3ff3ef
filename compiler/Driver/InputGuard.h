// Guards what a command reads against being written over: `cleave compile m.onnx -o m.onnx` would destroy the model.
//
// Files are the same where device and inode are, so that links and other spellings of a path are seen.
#ifndef CLEAVE_COMPILER_DRIVER_INPUTGUARD_H
#define CLEAVE_COMPILER_DRIVER_INPUTGUARD_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace cleave {

struct ReadFile {
  std::string path;
  std::string what; // "the model", as messages say it
};

// A usage error of `option` where one of the files to write is one of those read, or belongs to a checkpoint. Files that
// are not there are new.
llvm::Error checkInputsAreKept(llvm::StringRef option, llvm::ArrayRef<std::string> written,
                               llvm::ArrayRef<ReadFile> read);

} // namespace cleave

#endif

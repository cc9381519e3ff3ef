// Prevents a command from overwriting its own inputs: `cleave compile m.onnx -o m.onnx` would destroy the model.
//
// Files are the same if device and inode are, so links and other spellings of a path are recognized.
#ifndef CLEAVE_COMPILER_DRIVER_FILES_INPUTGUARD_H
#define CLEAVE_COMPILER_DRIVER_FILES_INPUTGUARD_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace cleave {

struct ReadFile {
  std::string path;
  std::string what; // for messages: "the model"
};

// Returns a usage error of `option` if a file to be written is also read, or belongs to a checkpoint. Files that do not
// exist are new.
llvm::Error checkInputsAreKept(llvm::StringRef option, llvm::ArrayRef<std::string> written,
                               llvm::ArrayRef<ReadFile> read);

} // namespace cleave

#endif

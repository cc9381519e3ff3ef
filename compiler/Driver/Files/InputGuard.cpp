#include "compiler/Driver/Files/InputGuard.h"

#include "compiler/Support/Usage.h"
#include "runtime/state/CheckpointSave.h"

#include "llvm/Support/FileSystem.h"

llvm::Error cleave::checkInputsAreKept(llvm::StringRef option, llvm::ArrayRef<std::string> written,
                                       llvm::ArrayRef<ReadFile> read) {
  for (const std::string &target : written) {
    if (std::string owner = rt::checkpointAround(target); !owner.empty())
      return usageError(option, "'" + target + "' would be a file of the checkpoints in " + owner +
                                    "; give a name outside of them");
    llvm::sys::fs::UniqueID mine;
    if (llvm::sys::fs::getUniqueID(target, mine))
      continue;
    for (const ReadFile &file : read) {
      llvm::sys::fs::UniqueID other;
      if (!llvm::sys::fs::getUniqueID(file.path, other) && mine == other)
        return usageError(option, "'" + target + "' is " + file.what + " (" + file.path +
                                      "), which would be written over; give another name");
    }
  }
  return llvm::Error::success();
}

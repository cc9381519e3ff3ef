// Creates folders that users ask for, with all rights that the umask permits. LLVM's default takes all rights from
// "others", so another user could not run a program in such a folder.
#ifndef CLEAVE_COMPILER_SUPPORT_DIRECTORIES_H
#define CLEAVE_COMPILER_SUPPORT_DIRECTORIES_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"

#include <system_error>

namespace cleave {

// Returns std::errc::file_exists if there is already something with this name.
inline std::error_code makeDirectory(const llvm::Twine &path) {
  return llvm::sys::fs::create_directory(path, /*IgnoreExisting=*/false, llvm::sys::fs::all_all);
}

// Creates the folder and all missing folders above it. It is no error if they exist.
inline std::error_code makeDirectories(const llvm::Twine &path) {
  return llvm::sys::fs::create_directories(path, /*IgnoreExisting=*/true, llvm::sys::fs::all_all);
}

} // namespace cleave

#endif

// Folders that users ask for: as open as the umask lets them be. LLVM's functions alone take all rights from "others", so
// that a program that one user compiles could not be run by another.
#ifndef CLEAVE_COMPILER_SUPPORT_DIRECTORIES_H
#define CLEAVE_COMPILER_SUPPORT_DIRECTORIES_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"

#include <system_error>

namespace cleave {

// std::errc::file_exists where something of this name is there.
inline std::error_code makeDirectory(const llvm::Twine &path) {
  return llvm::sys::fs::create_directory(path, /*IgnoreExisting=*/false, llvm::sys::fs::all_all);
}

// The folder and those above it; no error where they are there.
inline std::error_code makeDirectories(const llvm::Twine &path) {
  return llvm::sys::fs::create_directories(path, /*IgnoreExisting=*/true, llvm::sys::fs::all_all);
}

} // namespace cleave

#endif

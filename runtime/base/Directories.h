// Creates the folders that options name.
#ifndef CLEAVE_RUNTIME_BASE_DIRECTORIES_H
#define CLEAVE_RUNTIME_BASE_DIRECTORIES_H

#include "runtime/base/AtomicFile.h"

#include <filesystem>

namespace cleave::rt {

// The error for a folder that the user has named.
inline Status withDirectoryAdvice(const Status &status) {
  return {status.code(), status.message() + "; expected a directory that can be created and written: give another one"};
}

// Creates the folder and all missing folders above it. It is no error if they exist.
inline Status makeDirectories(const std::string &path) {
  std::error_code error, ignored;
  std::filesystem::create_directories(path, error);
  if (!error && std::filesystem::is_directory(path, ignored))
    return Status::ok();
  for (std::filesystem::path part = path; part.has_relative_path(); part = part.parent_path())
    if (std::filesystem::exists(part, ignored) && !std::filesystem::is_directory(part, ignored))
      return ioError("'" + part.string() + "' is a file; name a folder");
  return withDirectoryAdvice(fileError("create", path, error.value()));
}

} // namespace cleave::rt

#endif

// Devices as files to read: /dev/zero has no end, and a terminal waits for somebody to type a model. Pipes are no devices.
#ifndef CLEAVE_COMPILER_SUPPORT_DEVICES_H
#define CLEAVE_COMPILER_SUPPORT_DEVICES_H

#include "llvm/Support/FileSystem.h"

namespace cleave {

inline bool isDevice(llvm::StringRef path) {
  namespace fs = llvm::sys::fs;
  fs::file_status status;
  if (fs::status(path, status))
    return false; // reading says why
  return status.type() == fs::file_type::character_file || status.type() == fs::file_type::block_file;
}

} // namespace cleave

#endif

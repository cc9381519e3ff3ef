#include "compiler/Support/TemporaryFile.h"

#include "compiler/Support/StatusError.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <utility>

using namespace cleave;
namespace fs = llvm::sys::fs;

TemporaryFile::TemporaryFile(std::string path) : path_(std::move(path)) { llvm::sys::RemoveFileOnSignal(path_); }

TemporaryFile::TemporaryFile(TemporaryFile &&other) : path_(std::exchange(other.path_, {})) {}

llvm::Expected<TemporaryFile> TemporaryFile::create(llvm::StringRef prefix, llvm::StringRef suffix) {
  llvm::SmallString<128> path;
  if (std::error_code code = fs::createTemporaryFile(prefix, suffix, path)) {
    llvm::SmallString<128> folder;
    llvm::sys::path::system_temp_directory(/*erasedOnReboot=*/true, folder);
    return makeError("cannot make a temporary file in '" + folder + "': " + code.message() +
                     "; name a folder that exists and can be written to, as in TMPDIR=/var/tmp cleave compile ...");
  }
  return TemporaryFile(path.str().str());
}

TemporaryFile TemporaryFile::beside(llvm::StringRef name) {
  llvm::SmallString<256> unique;
  fs::createUniquePath(name + ".partial-%%%%%%%%", unique, /*MakeAbsolute=*/false);
  return TemporaryFile(unique.str().str());
}

llvm::Error TemporaryFile::write(llvm::StringRef bytes) const {
  std::error_code code;
  llvm::raw_fd_ostream file(path_, code, fs::OF_None);
  if (!code) {
    file << bytes;
    file.close();
    code = file.error();
    file.clear_error(); // a stream with an error would end the program
  }
  return code ? makeError(path_ + ": cannot write: " + code.message()) : llvm::Error::success();
}

llvm::Error TemporaryFile::keepAs(llvm::StringRef name) {
  std::error_code code = fs::rename(path_, name);
  if (!code) {
    llvm::sys::DontRemoveFileOnSignal(path_);
    path_.clear();
    return llvm::Error::success();
  }
  remove();
  return makeError(name + ": cannot write: " + code.message());
}

void TemporaryFile::remove() {
  if (path_.empty())
    return;
  fs::remove(path_);
  llvm::sys::DontRemoveFileOnSignal(path_);
  path_.clear();
}

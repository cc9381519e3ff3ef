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

std::string cleave::uniquePath(const llvm::Twine &prefix) {
  llvm::SmallString<16> random;
  fs::createUniquePath("%%%%%%%%", random, /*MakeAbsolute=*/false);
  return (prefix + random).str();
}

// Creates an empty file PREFIXxxxxxxxxSUFFIX that only its owner can read and write.
static std::error_code createUnique(const llvm::Twine &prefix, const llvm::Twine &suffix, std::string &path) {
  constexpr int kAttempts = 128;
  std::error_code code;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    path = uniquePath(prefix) + suffix.str();
    int file;
    code = fs::openFileForWrite(path, file, fs::CD_CreateNew, fs::OF_None, fs::owner_read | fs::owner_write);
    if (!code) {
      fs::file_t handle = fs::convertFDToNativeFile(file);
      return fs::closeFile(handle);
    }
    if (code != std::errc::file_exists)
      return code;
  }
  return code;
}

llvm::Expected<TemporaryFile> TemporaryFile::create(llvm::StringRef prefix, llvm::StringRef suffix) {
  llvm::SmallString<128> folder;
  llvm::sys::path::system_temp_directory(/*erasedOnReboot=*/true, folder);
  std::string path;
  llvm::SmallString<128> begin = folder;
  llvm::sys::path::append(begin, prefix);
  if (std::error_code code = createUnique(begin + "-", "." + suffix, path))
    return makeError("cannot make a temporary file in '" + folder + "': " + code.message() +
                     "; name a folder that exists and can be written to, as in TMPDIR=/var/tmp cleave compile ...");
  return TemporaryFile(path);
}

TemporaryFile TemporaryFile::beside(llvm::StringRef name) {
  return TemporaryFile(uniquePath(name + ".partial-"));
}

llvm::Expected<TemporaryFile> TemporaryFile::createBeside(llvm::StringRef name) {
  std::string path;
  if (std::error_code code = createUnique(name + ".partial-", "", path))
    return makeError(name + ": cannot write: " + code.message());
  return TemporaryFile(path);
}

llvm::Error TemporaryFile::write(llvm::StringRef bytes) const {
  std::error_code code;
  llvm::raw_fd_ostream file(path_, code, fs::OF_None);
  if (!code) {
    file << bytes;
    file.close();
    code = file.error();
    file.clear_error(); // otherwise the destructor of the stream would end the program
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

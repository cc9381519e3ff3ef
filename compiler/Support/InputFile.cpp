#include "compiler/Support/InputFile.h"

#include "compiler/Support/Error.h"

#include "llvm/Support/FileSystem.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cleave;

static const char *kindOf(mode_t mode) {
  return S_ISDIR(mode) ? "a directory" : S_ISREG(mode) || S_ISFIFO(mode) ? nullptr : "a device";
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> cleave::readInputFile(llvm::StringRef path,
                                                                          llvm::StringRef expected) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  int file = ::open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return makeError(path + ": cannot be read: " + std::strerror(errno) + "; expected " + expected);
  auto refuse = [&](const llvm::Twine &reason) {
    llvm::Error error = makeError(path + ": " + reason + "; expected " + expected);
    ::close(file);
    return error;
  };
  struct stat status;
  if (::fstat(file, &status) != 0)
    return refuse(std::string("cannot be read: ") + std::strerror(errno));
  if (const char *kind = kindOf(status.st_mode))
    return refuse(std::string("is ") + kind);
  ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) & ~O_NONBLOCK); // reading waits for a pipe that has a writer
  auto buffer = llvm::MemoryBuffer::getOpenFile(llvm::sys::fs::convertFDToNativeFile(file), path, /*FileSize=*/-1,
                                                /*RequiresNullTerminator=*/false);
  if (!buffer)
    return refuse("cannot be read: " + buffer.getError().message());
  if (S_ISFIFO(status.st_mode) && (*buffer)->getBufferSize() == 0)
    return refuse("is a pipe into which nobody writes");
  ::close(file); // the mapping keeps the file open
  return std::move(*buffer);
}

llvm::Error cleave::checkInputFile(llvm::StringRef path, llvm::StringRef expected) {
  struct stat status;
  if (::stat(path.str().c_str(), &status) != 0)
    return makeError(path + ": cannot be read: " + std::strerror(errno) + "; expected " + expected);
  const char *kind = kindOf(status.st_mode);
  return kind ? makeError(path + ": is " + kind + "; expected " + expected) : llvm::Error::success();
}

bool cleave::isRegularFile(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  return !llvm::sys::fs::status(path, status) && status.type() == llvm::sys::fs::file_type::regular_file;
}

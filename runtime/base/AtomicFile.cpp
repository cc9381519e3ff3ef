#include "runtime/base/AtomicFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cleave::rt {

namespace {

AtomicFile::Watcher watcher = [](const std::string &, bool) {};

} // namespace

void AtomicFile::watch(Watcher chosen) { watcher = chosen; }

Status fileError(const std::string &action, const std::string &path, int error) {
  Code code = error == ENOENT ? Code::NotFound : Code::IoError;
  return {code, "cannot " + action + " " + path + ": " + std::strerror(error)};
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (fd_ < 0)
    return;
  ::close(fd_);
  ::unlink(aside_.c_str());
  watcher(aside_, false);
  fd_ = -1;
}

Status AtomicFile::create(const std::string &path, AtomicFile *result) {
  result->discard();
  // A rename would replace a device (/dev/stdout), or a link to one, by a plain file.
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return S_ISDIR(info.st_mode) ? fileError("write", path, EISDIR)
                                 : ioError("cannot write " + path + ": expected a regular file or a new name");
  result->path_ = path;
  result->aside_ = path + ".tmp-" + std::to_string(::getpid());
  result->fd_ = ::open(result->aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (result->fd_ < 0)
    return fileError("write", path, errno);
  watcher(result->aside_, true);
  return Status::ok();
}

Status AtomicFile::write(const void *data, size_t size) {
  const char *next = static_cast<const char *>(data);
  while (size != 0) {
    ssize_t written = ::write(fd_, next, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return fileError("write", path_, errno);
    next += written;
    size -= static_cast<size_t>(written);
  }
  return Status::ok();
}

Status AtomicFile::rewrite(uint64_t offset, const void *data, size_t size) {
  const char *next = static_cast<const char *>(data);
  while (size != 0) {
    ssize_t written = ::pwrite(fd_, next, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return fileError("write", path_, errno);
    next += written;
    offset += static_cast<uint64_t>(written);
    size -= static_cast<size_t>(written);
  }
  return Status::ok();
}

Status AtomicFile::commit() {
  if (::fsync(fd_) != 0)
    return fileError("flush", path_, errno);
  // Network file systems report a full disk only here.
  int closed = ::close(fd_);
  fd_ = -1;
  Status status;
  if (closed != 0 || ::rename(aside_.c_str(), path_.c_str()) != 0) {
    status = fileError("write", path_, errno);
    ::unlink(aside_.c_str());
  }
  watcher(aside_, false);
  CLEAVE_TRY(status);
  return syncDirectory(parentDirectory(path_));
}

Status writeFileAtomically(const std::string &path, std::string_view text) {
  AtomicFile file;
  CLEAVE_TRY(AtomicFile::create(path, &file));
  CLEAVE_TRY(file.write(text.data(), text.size()));
  return file.commit();
}

Status syncDirectory(const std::string &directory) {
  int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return fileError("open", directory, errno);
  // Some file systems cannot flush a directory (EINVAL). Nothing more can be done on them.
  bool failed = ::fsync(fd) != 0 && errno != EINVAL;
  Status status = failed ? fileError("flush", directory, errno) : Status::ok();
  ::close(fd);
  return status;
}

std::string parentDirectory(const std::string &path) {
  size_t slash = path.find_last_of('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

} // namespace cleave::rt

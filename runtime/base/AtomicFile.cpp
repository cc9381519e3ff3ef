#include "runtime/base/AtomicFile.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cleave::rt {

namespace {

AtomicFile::Watcher watcher = [](const std::string &, bool) {};

// True if the name lies in a directory of devices or of processes. Memory that is shared (/dev/shm) has plain files.
bool isInDevices(const std::string &path) {
  char resolved[PATH_MAX];
  if (!::realpath(parentDirectory(path).c_str(), resolved))
    return false;
  std::string directory = resolved;
  return directory == "/dev" || directory == "/dev/pts" || directory == "/proc" || directory.rfind("/proc/", 0) == 0;
}

} // namespace

Status findFileToReplace(const std::string &path, std::string *target) {
  constexpr int kMostLinks = 40; // as many as the kernel follows
  std::string name = path;
  struct stat info;
  for (int links = 0;; ++links) {
    bool isThere = ::lstat(name.c_str(), &info) == 0;
    if (isInDevices(name) || (isThere && !S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode) && !S_ISDIR(info.st_mode)))
      return ioError("cannot write " + path + ": expected a regular file or a new name");
    if (isThere && S_ISDIR(info.st_mode))
      return fileError("write", path, EISDIR);
    if (!isThere || !S_ISLNK(info.st_mode)) {
      *target = name;
      return Status::ok();
    }
    char next[PATH_MAX];
    ssize_t size = ::readlink(name.c_str(), next, sizeof next);
    if (size < 0 || links == kMostLinks)
      return fileError("write", path, size < 0 ? errno : ELOOP);
    std::string link(next, static_cast<size_t>(size));
    name = link.rfind('/', 0) == 0 ? link : parentDirectory(name) + "/" + link;
  }
}

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
  CLEAVE_TRY(findFileToReplace(path, &result->path_));
  result->aside_ = result->path_ + ".tmp-" + std::to_string(::getpid());
  result->fd_ = ::open(result->aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (result->fd_ < 0)
    return fileError("write", path, errno);
  watcher(result->aside_, true);
  struct stat info;
  if (::stat(result->path_.c_str(), &info) == 0 && ::fchmod(result->fd_, info.st_mode & 0777) != 0)
    return fileError("write", path, errno);
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

Status AtomicFile::flush() { return ::fsync(fd_) == 0 ? Status::ok() : fileError("flush", path_, errno); }

Status AtomicFile::commit() {
  CLEAVE_TRY(flush());
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

#include "runtime/base/FileMapping.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cleave::rt {

static Status refused(const char *what, const std::string &path) {
  Code code = errno == ENOENT ? Code::NotFound : Code::IoError;
  return {code, std::string("cannot ") + what + " '" + path + "': " + std::strerror(errno)};
}

FileMapping &FileMapping::operator=(FileMapping &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void FileMapping::dropPages() const {
  if (data_)
    ::madvise(const_cast<std::byte *>(data_), size_, MADV_DONTNEED);
}

void FileMapping::reset() {
  if (data_)
    ::munmap(const_cast<std::byte *>(data_), size_);
  data_ = nullptr;
  size_ = 0;
}

Status FileMapping::open(const std::string &path, FileMapping *result) {
  result->reset();
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // must not block if the path is a pipe
  if (fd < 0)
    return refused("open", path);
  struct stat info;
  Status status;
  if (::fstat(fd, &info) != 0) {
    status = refused("read the size of", path);
  } else if (!S_ISREG(info.st_mode)) {
    bool isDirectory = S_ISDIR(info.st_mode);
    status =
        invalidArgument("'" + path + (isDirectory ? "' is a directory; expected a file" : "' is not a regular file"));
  } else if (info.st_size > 0) {
    void *mapped = ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED) {
      status = refused("map", path);
    } else {
      result->data_ = static_cast<const std::byte *>(mapped);
      result->size_ = static_cast<size_t>(info.st_size);
    }
  }
  ::close(fd); // the mapping keeps the file
  return status;
}

} // namespace cleave::rt

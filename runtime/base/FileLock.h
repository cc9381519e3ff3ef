// Locks of files between processes (flock). A lock ends when the file descriptor is closed.
#ifndef CLEAVE_RUNTIME_BASE_FILELOCK_H
#define CLEAVE_RUNTIME_BASE_FILELOCK_H

#include <cerrno>
#include <sys/file.h>

namespace cleave::rt {

// Takes the lock without waiting. Returns 0, EWOULDBLOCK if another process has it, or another error where the file
// system has no locks.
inline int tryLock(int fd) {
  int error = 0;
  do
    error = ::flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  while (error == EINTR);
  return error;
}

} // namespace cleave::rt

#endif

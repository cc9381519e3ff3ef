/* For LD_PRELOAD: no file can be put on the disk. */
#include <errno.h>

int fsync(int file) {
  (void)file;
  errno = ENOSPC;
  return -1;
}

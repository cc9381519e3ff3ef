/* Writes the peak of the process's resident memory, in KiB and as the kernel counts it, when the process ends:
 *
 *   cc -shared -fPIC -o libresident.so watch_resident.c
 *   LD_PRELOAD=./libresident.so WATCH_LOG=log ./gpt train ...
 *
 * Not getrusage(): its maximum also counts the process before exec, which is a Python here. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((destructor)) static void finish(void) {
  const char *path = getenv("WATCH_LOG");
  char text[4096];
  int status = open("/proc/self/status", O_RDONLY), log = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
  ssize_t size = read(status, text, sizeof text - 1);
  if (size <= 0 || log < 0)
    return;
  text[size] = '\0';
  const char *line = strstr(text, "VmHWM:");
  if (line && write(log, line + 6, strcspn(line + 6, "k")) < 0)
    abort();
}

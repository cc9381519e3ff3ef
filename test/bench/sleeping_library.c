// A library for LD_PRELOAD. Each primitive of oneDNN sleeps for CLEAVE_SLEEP_US before it computes. So the passes of a
// pipeline take a chosen time, independent of other work on the machine, because ranks that sleep do not compete for a
// core.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

typedef int (*execute_fn)(const void *, void *, int, const void *);

int dnnl_primitive_execute(const void *primitive, void *stream, int count, const void *arguments) {
  static execute_fn execute;
  static long microseconds = -1;
  static __thread int is_exact;
  if (!is_exact)
    is_exact = prctl(PR_SET_TIMERSLACK, 1000ul) == 0; // a microsecond instead of 50
  if (!execute)
    execute = (execute_fn)dlsym(RTLD_NEXT, "dnnl_primitive_execute");
  if (microseconds < 0)
    microseconds = getenv("CLEAVE_SLEEP_US") ? atol(getenv("CLEAVE_SLEEP_US")) : 0;
  struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, 0);
  return execute(primitive, stream, count, arguments);
}

/* The system gives no thread from the NO_THREAD-th on:
 *
 *   cc -shared -fPIC -O1 -o libnothread.so no_thread.c -ldl
 *   NO_THREAD=2 LD_PRELOAD=./libnothread.so ./model train ...
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int made;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *data) {
  int (*make)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  *(void **)&make = dlsym(RTLD_NEXT, "pthread_create");
  const char *first = getenv("NO_THREAD");
  if (first && ++made >= atoi(first))
    return EAGAIN;
  return make(thread, attributes, body, data);
}

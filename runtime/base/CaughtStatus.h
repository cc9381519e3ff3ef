// What the C++ library threw, as a status: memory or a thread that the system does not give.
//
// Called in `catch (...)`, which stands where an exception must end: at threads, at calls of the C API, and at the
// commands of a program.
#ifndef CLEAVE_RUNTIME_BASE_CAUGHTSTATUS_H
#define CLEAVE_RUNTIME_BASE_CAUGHTSTATUS_H

#include "runtime/base/Status.h"

#include <exception>
#include <new>
#include <system_error>

namespace cleave::rt {

inline Status caughtStatus() {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    return {Code::OutOfMemory, "out of memory"};
  } catch (const std::system_error &error) {
    if (error.code() != std::errc::resource_unavailable_try_again)
      return internal(error.what());
    return {Code::OutOfMemory,
            "the system refuses this process another thread; raise the limits of processes and memory "
            "(ulimit -u, ulimit -v), or use fewer threads"};
  } catch (const std::exception &error) {
    return internal(error.what());
  }
}

} // namespace cleave::rt

#endif

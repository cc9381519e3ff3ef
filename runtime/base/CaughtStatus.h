// Turns an exception of the C++ library into a status. Such an exception says, for example, that the system refuses
// memory or another thread.
//
// It is called in `catch (...)`, at the places where exceptions must end: threads, calls of the C API, and the commands
// of a program.
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

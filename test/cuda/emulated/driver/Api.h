// Code that the entry points of the driver share. Their names, parameters and codes are those of the public driver API.
// The parameter types are written by their sizes, so that the emulated driver builds without the toolkit's headers.
#pragma once
#include "test/cuda/emulated/driver/Machine.h"
#include "test/cuda/emulated/driver/Stream.h"

#define CLEAVE_EMULATED_API extern "C" __attribute__((visibility("default")))

namespace cleave::emulated {

using Handle = void *;
using DevicePointer = uint64_t;

// Each of these returns an error code that the entry point must return at once, or 0.
inline int needInitialized() { return Machine::get().initialized ? code::Success : code::NotInitialized; }

inline int needContext() {
  if (int error = needInitialized())
    return error;
  if (int error = Machine::get().stickyError())
    return error;
  return currentDevice() < 0 ? code::InvalidContext : code::Success;
}

// For calls that may synchronize or allocate. They are forbidden while a stream captures, unless its mode allows them.
inline int needContextOutsideCapture() {
  if (int error = needContext())
    return error;
  return Streams::get().unsafeCall();
}

inline int needHandle(Handle h, const char *kind) {
  return Machine::get().isHandle(h, kind) ? code::Success : code::InvalidHandle;
}

} // namespace cleave::emulated

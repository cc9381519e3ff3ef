// Where memory begins: one rule for the compiler, which places it, and for the runtime and the kernels, which rely on
// it.
#ifndef CLEAVE_RUNTIME_PLAN_ALIGNMENT_H
#define CLEAVE_RUNTIME_PLAN_ALIGNMENT_H

#include <cstdint>

namespace cleave::rt {

// Regions, buffers, ports and scratch begin at multiples of this many bytes. It is a cache line, and the widest vector
// of a processor.
inline constexpr uint64_t kBufferAlignment = 64;
// States, and the members of a bucket, begin at multiples of this many bytes.
inline constexpr uint64_t kStateAlignment = 128;

// The bytes after which the next buffer begins.
constexpr uint64_t paddedBytes(uint64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

} // namespace cleave::rt

#endif

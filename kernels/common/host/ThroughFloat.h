// A kernel of 16-bit floating-point numbers as one of f32 with conversions around it, where the library or the
// processor has none of its own. It is the reference semantics itself: inputs are exact in f32, sums are f32, the
// result is rounded once. The f32 copies lie in planned scratch, before the inner kernel's own.
//
//   buffers   a (f16)   b (f16)   c (f16)   scratch: [ a (f32) | b (f32) | c (f32) | inner scratch ]
#ifndef CLEAVE_KERNELS_COMMON_HOST_THROUGHFLOAT_H
#define CLEAVE_KERNELS_COMMON_HOST_THROUGHFLOAT_H

#include "kernels/common/host/HostKernel.h"

namespace cleave::rt {

struct ConvertedBuffer {
  fb::DType dtype; // f16 or bf16; f32 is passed on as it is
  size_t count;    // elements
  bool read, written;
};

// `inner` has the same buffers in f32, and scratch last.
std::unique_ptr<HostKernel> makeThroughFloat(std::unique_ptr<HostKernel> inner, std::vector<ConvertedBuffer> buffers,
                                             int threads);

} // namespace cleave::rt

#endif

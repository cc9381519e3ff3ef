// Computes a kernel of 16-bit floating-point numbers by a kernel of f32, with conversions before and after it. It is
// for kernels that the library or the processor does not have. It also defines the right result: inputs are exact in
// f32, sums are f32, and the result is rounded once. The f32 copies are in planned scratch, before the scratch of the
// inner kernel:
//
//   buffers   a (f16)   b (f16)   c (f16)   scratch: [ a (f32) | b (f32) | c (f32) | inner scratch ]
#ifndef CLEAVE_KERNELS_COMMON_HOST_THROUGHFLOAT_H
#define CLEAVE_KERNELS_COMMON_HOST_THROUGHFLOAT_H

#include "kernels/common/host/HostKernel.h"

namespace cleave::rt {

struct ConvertedBuffer {
  fb::DType dtype; // f16 or bf16; f32 is not converted
  size_t count;    // elements
  bool read, written;
};

// `inner` must have the same buffers in f32, and scratch as its last buffer.
std::unique_ptr<HostKernel> makeThroughFloat(std::unique_ptr<HostKernel> inner, std::vector<ConvertedBuffer> buffers,
                                             int threads);

} // namespace cleave::rt

#endif

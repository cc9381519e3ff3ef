// Makes a kernel of oneDNN primitives. Every byte of its scratch is planned.
//
// The builder collects calls (primitives) and the addresses of their memory, which is in a buffer of the launch or in
// scratch. oneDNN's own scratchpads are in user mode. They share one area at the end of scratch, because calls run one
// after the other.
//
//   DnnlBuilder builder(threads, /*scratch=*/3);
//   auto a = builder.operand(0, aDesc);
//   auto x = builder.input(0, plainDesc, wantedDesc);     // reordered into scratch if they differ
//   builder.call(dnnl::matmul(pd), {{DNNL_ARG_SRC, a}, ...}, pd.scratchpad_desc());
//   *result = builder.finish(bufferBytes);
//
// oneDNN reports errors by exceptions. Only guardDnnl() turns them into a Status.
#ifndef CLEAVE_KERNELS_COMMON_HOST_DNNL_H
#define CLEAVE_KERNELS_COMMON_HOST_DNNL_H

#include "kernels/common/host/HostKernel.h"

#include <functional>
#include <initializer_list>
#include <limits>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

namespace cleave::rt {

using DnnlArgs = std::unordered_map<int, dnnl::memory>;

// A primitive's execution, or a reorder that Cleave computes itself.
using DnnlCall = std::function<void(const dnnl::stream &)>;

// A memory object whose address is known at run time: `offset` bytes into a buffer of the launch.
struct DnnlBinding {
  dnnl::memory memory;
  size_t buffer, offset;
};

// A part of a buffer that is rewritten in place: format `plain` at byte `from` becomes format `wanted` at byte `to`.
struct DnnlPiece {
  dnnl::memory::desc plain;
  size_t from;
  dnnl::memory::desc wanted;
  size_t to;

  bool stays() const { return plain == wanted && from == to; }
};

class DnnlBuilder {
public:
  explicit DnnlBuilder(size_t scratchBuffer) : scratchBuffer_(scratchBuffer) {}

  dnnl::memory operand(size_t buffer, const dnnl::memory::desc &desc, size_t offset = 0) {
    return bind(buffer, offset, desc);
  }
  // The buffer in the format that a primitive needs. A reorder runs before (input) or after (output) the next call.
  dnnl::memory input(size_t buffer, const dnnl::memory::desc &plain, const dnnl::memory::desc &wanted,
                     size_t offset = 0);
  dnnl::memory output(size_t buffer, const dnnl::memory::desc &plain, const dnnl::memory::desc &wanted);
  // The same as output(), but the result of the next call is added to the present value of the buffer.
  dnnl::memory addedOutput(size_t buffer, const dnnl::memory::desc &plain, const dnnl::memory::desc &wanted);
  // Changes the format of the buffer itself, through scratch. The pieces together cover the buffer before and after. No
  // scratch is used if all pieces stay.
  void repack(size_t buffer, const std::vector<DnnlPiece> &pieces);
  void call(const dnnl::primitive &primitive, DnnlArgs args, const dnnl::memory::desc &scratchpad);
  // Reuses the scratch of the calls so far: later calls must not read it.
  void freeScratch() { scratchBytes_ = 0; }
  // Adds the size of scratch to `bufferBytes`.
  std::unique_ptr<HostKernel> finish(std::vector<size_t> bufferBytes);

  static dnnl::engine &engine();
  // True if the library uses AVX-512 (F, BW, CD, DQ, VL). It has special kernels for it.
  static bool hasAvx512();
  // True if the processor has products of bf16 (AVX512-BF16, AMX). With plain AVX-512, oneDNN accepts bf16, but
  // emulates it.
  static bool hasNativeBFloat16();
  // Attributes with a scratchpad in user mode.
  static dnnl::primitive_attr attributes();

private:
  dnnl::memory bind(size_t buffer, size_t offset, const dnnl::memory::desc &desc);
  dnnl::memory scratch(const dnnl::memory::desc &desc);
  DnnlCall reorder(const dnnl::memory &from, const dnnl::memory &to);
  DnnlCall execute(const dnnl::primitive &primitive, DnnlArgs args, const dnnl::memory::desc &scratchpad);

  size_t scratchBuffer_;
  size_t scratchBytes_ = 0; // of the reordered copies that are in use
  size_t scratchPeak_ = 0;
  size_t scratchpadBytes_ = 0; // the largest of all calls
  std::vector<DnnlBinding> bindings_;
  std::vector<DnnlCall> calls_, after_;
  std::vector<size_t> scratchpads_; // indices of bindings whose offset is set by finish()
};

// oneDNN counts dimensions, and some products of dimensions, in 32 bits. If one of them becomes 0 and oneDNN divides by
// it, the program ends. So such sizes are refused.
inline Status checkDnnlSizes(std::initializer_list<int64_t> sizes) {
  for (int64_t size : sizes)
    if (size > std::numeric_limits<int32_t>::max())
      return invalidArgument("a product or convolution over " + std::to_string(size) +
                             " elements of one dimension (of one image, or of one window) is too large for oneDNN; at "
                             "most 2147483647 are supported");
  return Status::ok();
}

// Runs `body` and turns an exception of oneDNN into a status.
template <typename Body> Status guardDnnl(Body body) {
  try {
    return body();
  } catch (const dnnl::error &error) {
    Code code = error.status == dnnl_out_of_memory ? Code::OutOfMemory : Code::InvalidArgument;
    return {code, std::string("oneDNN: ") + error.what()};
  }
}

} // namespace cleave::rt

#endif

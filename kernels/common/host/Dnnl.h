// A kernel made of oneDNN primitives whose every byte of scratch is planned.
//
// The builder collects calls (primitives) and where their memories lie: in a buffer of the launch, or in scratch.
// oneDNN's own scratchpads are in user mode and share one area at the end of scratch, since calls run one by one.
//
//   DnnlBuilder builder(threads, /*scratch=*/3);
//   auto a = builder.operand(0, aDesc);
//   auto x = builder.input(0, plainDesc, wantedDesc);     // reordered into scratch when they differ
//   builder.call(dnnl::matmul(pd), {{DNNL_ARG_SRC, a}, ...}, pd.scratchpad_desc());
//   *result = builder.finish(bufferBytes);
//
// oneDNN reports errors by exceptions; guardDnnl() is the one place where they become a Status.
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

// A primitive's execution, or a reorder of our own.
using DnnlCall = std::function<void(const dnnl::stream &)>;

// A memory whose address is known at run time: `offset` bytes into a buffer of the launch.
struct DnnlBinding {
  dnnl::memory memory;
  size_t buffer, offset;
};

// A part of a buffer that is rewritten in place: `plain` from byte `from` on becomes `wanted` from byte `to` on.
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
  // The buffer in the format a primitive wants; a reorder comes before (input) or after (output) the next step.
  dnnl::memory input(size_t buffer, const dnnl::memory::desc &plain, const dnnl::memory::desc &wanted,
                     size_t offset = 0);
  dnnl::memory output(size_t buffer, const dnnl::memory::desc &plain, const dnnl::memory::desc &wanted);
  // The result of the next step is added to what the buffer holds.
  dnnl::memory addedOutput(size_t buffer, const dnnl::memory::desc &plain, const dnnl::memory::desc &wanted);
  // The buffer itself goes from one format to the other, by way of scratch. Pieces together cover it before and
  // after. No scratch is used when all of them stay.
  void repack(size_t buffer, const std::vector<DnnlPiece> &pieces);
  void call(const dnnl::primitive &primitive, DnnlArgs args, const dnnl::memory::desc &scratchpad);
  // What the calls so far have in scratch is not used by those that follow.
  void freeScratch() { scratchBytes_ = 0; }
  // `bufferBytes` without scratch, whose size is added.
  std::unique_ptr<HostKernel> finish(std::vector<size_t> bufferBytes);

  static dnnl::engine &engine();
  // Whether the library uses AVX-512 (F, BW, CD, DQ, VL), for which it has kernels that differ from all others.
  static bool hasAvx512();
  // Whether the processor multiplies bf16 itself (AVX512-BF16, AMX). oneDNN takes bf16 from AVX-512 on, and emulates
  // it.
  static bool hasNativeBFloat16();
  // User-mode scratchpad.
  static dnnl::primitive_attr attributes();

private:
  dnnl::memory bind(size_t buffer, size_t offset, const dnnl::memory::desc &desc);
  dnnl::memory scratch(const dnnl::memory::desc &desc);
  DnnlCall reorder(const dnnl::memory &from, const dnnl::memory &to);
  DnnlCall execute(const dnnl::primitive &primitive, DnnlArgs args, const dnnl::memory::desc &scratchpad);

  size_t scratchBuffer_;
  size_t scratchBytes_ = 0; // of reordered copies in use
  size_t scratchPeak_ = 0;
  size_t scratchpadBytes_ = 0; // the largest of all calls
  std::vector<DnnlBinding> bindings_;
  std::vector<DnnlCall> calls_, after_;
  std::vector<size_t> scratchpads_; // bindings whose offset is known at the end
};

// oneDNN counts dimensions, and products of some, in 32 bits, and ends the program when it divides by one that became
// 0.
inline Status checkDnnlSizes(std::initializer_list<int64_t> sizes) {
  for (int64_t size : sizes)
    if (size > std::numeric_limits<int32_t>::max())
      return invalidArgument("a product or convolution over " + std::to_string(size) +
                             " elements of one dimension (of one image, or of one window) is too large for oneDNN; at "
                             "most 2147483647 are supported");
  return Status::ok();
}

// What oneDNN throws, as a status.
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

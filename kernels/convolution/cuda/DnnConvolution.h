// A convolution as cuDNN takes it: sizes of tensors in 32 bits, and one number of padding on both sides of a dimension.
//
// The compiler asks whether the library takes a convolution and how much scratch to plan for it; the device asks for
// the sizes (runtime/device/cuda/CudaConvolution.cpp). What the library does not take, Cleave's own kernel computes
// (Convolution.cuh):
//   - f64
//   - padding that differs between the two sides and that changes the outputs. It does not where no window reaches the
//     end: a window of 3 with stride 2 over 224 numbers gives the same with 0 or 1 zeros after them
//   - outputs that no window gives (a transposed convolution with more padding of its output than the stride)
//   - tensors of 2^31 elements or more
#ifndef CLEAVE_KERNELS_CONVOLUTION_CUDA_DNNCONVOLUTION_H
#define CLEAVE_KERNELS_CONVOLUTION_CUDA_DNNCONVOLUTION_H

#include "runtime/plan/KernelDefs.h"

#include <array>
#include <optional>

namespace cleave::rt {

struct DnnConvolution {
  using Sizes = std::array<int, 5>;
  int dims = 4;                                   // of a tensor: 4, or 5 where there are three spatial dimensions
  Sizes x{}, y{}, w{};                            // [n, ic, in...], [n, oc, out...], [oc, ic/groups, kernel...]
  std::array<int, 3> pad{}, stride{}, dilation{}; // `dims` - 2 of them
  int groups = 1;

  // Of the parameters of `convolution`, `convolution_input_grad` or `convolution_weight_grad`.
  static std::optional<DnnConvolution> of(const KernelArgs &args);

  // What the library may take: room for the tensors with channels innermost, which is how tensor cores read them, for
  // the gradient of the weights in f32, and for 16 MiB more; at most 1 GiB. Without a few MiB beyond the tensors,
  // 19 of ResNet-50's 53 weight gradients were computed without tensor cores, ten times as slowly (Rationale.md).
  uint64_t workspaceBytes(uint64_t elementBytes) const;
};

} // namespace cleave::rt

#endif

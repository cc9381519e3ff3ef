// A convolution in the form that cuDNN accepts: sizes of tensors in 32 bits, and the same padding on both sides of a
// dimension.
//
// The compiler asks whether the library accepts a convolution, and how much scratch to plan for it. The device asks for
// the sizes (runtime/device/cuda/CudaConvolution.cpp). If the library does not accept it, Cleave's own kernel computes
// it (Convolution.cuh). These are not accepted:
//   - f64
//   - padding that differs between the two sides and that changes the outputs. It changes nothing if no window
//     reaches the end: a window of 3 with stride 2 over 224 numbers gives the same with 0 or 1 zeros after them
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
  int dims = 4;                                   // of a tensor: 4, or 5 if there are three spatial dimensions
  Sizes x{}, y{}, w{};                            // [n, ic, in...], [n, oc, out...], [oc, ic/groups, kernel...]
  std::array<int, 3> pad{}, stride{}, dilation{}; // `dims` - 2 of them
  int groups = 1;

  // Reads the parameters of `convolution`, `convolution_input_grad` or `convolution_weight_grad`. Empty if the library
  // does not accept them.
  static std::optional<DnnConvolution> of(const KernelArgs &args);

  // The bytes of workspace that the library may use: the tensors with channels innermost (tensor cores read them so),
  // the gradient of the weights in f32, and 16 MiB more; at most 1 GiB. Without a few MiB in addition to the tensors,
  // 19 of ResNet-50's 53 weight gradients were computed without tensor cores, ten times as slowly (Rationale.md).
  uint64_t workspaceBytes(uint64_t elementBytes) const;
};

} // namespace cleave::rt

#endif

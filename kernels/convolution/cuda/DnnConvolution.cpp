#include "kernels/convolution/cuda/DnnConvolution.h"

#include "kernels/common/host/Window.h"

#include <algorithm>

namespace cleave::rt {

namespace {

// True if the padding of the low side can be used for both sides: the outputs have the same number and the same places.
// Elements in the padding of the high side are zero, whether the library knows this padding or not.
bool isOneWindow(const Window &window, int dim) {
  int64_t span = (window.kernel[dim] - 1) * window.dilation[dim] + 1;
  int64_t room = window.in[dim] + 2 * window.padLow[dim] - span;
  return room >= 0 && room / window.stride[dim] + 1 == window.out[dim];
}

// True if the dimension has no effect: one element, and a window of one element.
bool isTrivial(const Window &window, int dim) {
  return window.in[dim] == 1 && window.out[dim] == 1 && window.kernel[dim] == 1 && window.padLow[dim] == 0 &&
         window.padHigh[dim] == 0;
}

// True if a tensor of these sizes has less than 2^31 elements.
bool isSmall(int64_t first, int64_t second, int64_t inner) {
  constexpr int64_t kMost = INT32_MAX;
  return first <= kMost && second <= kMost && inner <= kMost && first <= kMost / second &&
         first * second <= kMost / inner;
}

int narrow(int64_t value) { return static_cast<int>(value); }

} // namespace

std::optional<DnnConvolution> DnnConvolution::of(const KernelArgs &args) {
  fb::DType type = args.dtype();
  Window window;
  if ((type != fb::DType::f32 && type != fb::DType::f16 && type != fb::DType::bf16) ||
      !Window::read(args, &window).isOk())
    return std::nullopt;
  int64_t n = args["n"], ic = args["ic"], oc = args["oc"], groups = args["groups"];
  if (n < 1 || groups < 1 || ic < groups || oc < groups || ic % groups != 0 || oc % groups != 0 ||
      !isSmall(n, ic, window.inSize()) || !isSmall(n, oc, window.outSize()) ||
      !isSmall(oc, ic / groups, window.kernelSize()))
    return std::nullopt;
  for (int dim = 0; dim < 3; ++dim)
    if (!isOneWindow(window, dim))
      return std::nullopt;
  DnnConvolution result;
  int first = isTrivial(window, 0) ? 1 : 0; // the library needs at least two spatial dimensions
  result.dims = 5 - first;
  result.groups = narrow(groups);
  result.x = {narrow(n), narrow(ic)};
  result.y = {narrow(n), narrow(oc)};
  result.w = {narrow(oc), narrow(ic / groups)};
  for (int dim = first; dim < 3; ++dim) {
    size_t to = static_cast<size_t>(dim - first);
    result.x[2 + to] = narrow(window.in[dim]);
    result.y[2 + to] = narrow(window.out[dim]);
    result.w[2 + to] = narrow(window.kernel[dim]);
    result.pad[to] = narrow(window.padLow[dim]);
    result.stride[to] = narrow(window.stride[dim]);
    result.dilation[to] = narrow(window.dilation[dim]);
  }
  return result;
}

uint64_t DnnConvolution::workspaceBytes(uint64_t elementBytes) const {
  constexpr uint64_t kMost = 1024 << 20, kRoom = 16 << 20;
  auto elements = [&](const Sizes &sizes, bool areChannelsWhole) {
    uint64_t count = static_cast<uint64_t>(sizes[0]);
    for (int i = 1; i < dims; ++i) {
      uint64_t size = static_cast<uint64_t>(sizes[static_cast<size_t>(i)]);
      count *= i == 1 && areChannelsWhole ? (size + 7) / 8 * 8 : size; // 16 bytes at a time
    }
    return count;
  };
  uint64_t bytes = (elements(x, true) + elements(y, true) + elements(w, true)) * elementBytes + elements(w, false) * 4;
  return std::min(kMost, bytes + kRoom);
}

} // namespace cleave::rt

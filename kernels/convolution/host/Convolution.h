// Convolution and its two gradients on the host. Tensors are plain (NCHW, OIHW) for the caller. oneDNN may choose other
// formats and reorder in planned scratch, because its kernels for plain tensors are several times slower. With channels
// last (NHWC), the forward kernel reads and writes the tensors in place. 16-bit types that the processor does not have
// are computed in f32.
#ifndef CLEAVE_KERNELS_CONVOLUTION_HOST_CONVOLUTION_H
#define CLEAVE_KERNELS_CONVOLUTION_HOST_CONVOLUTION_H

#include "kernels/common/host/HostKernel.h"
#include "kernels/common/host/Window.h"

namespace cleave::rt {

struct ConvolutionShape {
  fb::DType dtype;
  int64_t n, ic, oc, groups;
  bool packedWeights, channelsLast; // of the forward kernel
  bool halfVectors; // packed weights may be for kernels with vectors of half the width (Kernels.def)
  Window window;

  static Status read(const KernelArgs &args, ConvolutionShape *result);
  size_t xBytes() const { return static_cast<size_t>(n * ic * window.inSize()) * dtypeSize(dtype); }
  size_t yBytes() const { return static_cast<size_t>(n * oc * window.outSize()) * dtypeSize(dtype); }
  size_t wBytes() const { return static_cast<size_t>(oc * (ic / groups) * window.kernelSize()) * dtypeSize(dtype); }
};

Status makeConvolution(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
Status makeConvolutionPack(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
Status makeConvolutionInputGrad(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
Status makeConvolutionWeightGrad(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);

// With channels last and a bias, in f32. Only the library computes it.
Status makeConvolutionBias(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
Status makeConvolutionBiasPack(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);

enum class ConvolutionKind { Forward, InputGrad, WeightGrad, Pack, Bias, BiasPack };
// Direct loops, for f64, which oneDNN does not have.
Status makeReferenceConvolution(ConvolutionKind kind, const ConvolutionShape &shape, int threads,
                                std::unique_ptr<HostKernel> *result);

} // namespace cleave::rt

#endif

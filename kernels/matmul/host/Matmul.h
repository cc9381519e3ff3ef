// Matrix multiplication on the host. oneDNN computes it if the processor has AVX-512 and instructions for the type.
// Without AVX-512, f32 is computed by BlockedMatmul. Other 16-bit types are computed through f32, and f64 by a
// reference kernel.
#ifndef CLEAVE_KERNELS_MATMUL_HOST_MATMUL_H
#define CLEAVE_KERNELS_MATMUL_HOST_MATMUL_H

#include "kernels/common/host/HostKernel.h"

namespace cleave::rt {

// The parameters of Kernels.def, checked.
struct MatmulShape {
  int64_t batch, batchA, batchB, m, n, k;
  bool transposeA, transposeB, packedB, hasBias;
  fb::DType dtype, outDtype;

  static Status read(const KernelArgs &args, MatmulShape *result);
  std::vector<size_t> operandBytes() const;               // a, b, the bias if there is one, c
  size_t resultBuffer() const { return hasBias ? 3 : 2; } // scratch comes after it
};

Status makeMatmul(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
// For matmul_bias_grad and matmul_bias_grad_a.
Status makeMatmulBiasGrad(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
Status makeMatmulPack(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
// For any type. Sums are f64 for f64, and f32 otherwise.
Status makeReferenceMatmul(const MatmulShape &shape, int threads, std::unique_ptr<HostKernel> *result);

} // namespace cleave::rt

#endif

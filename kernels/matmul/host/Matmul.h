// Matrix multiplication on the host: oneDNN where the processor has AVX-512 and the type, blocks of our own for f32
// elsewhere, through f32 for other 16-bit types, and a reference kernel for f64.
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
  size_t resultBuffer() const { return hasBias ? 3 : 2; } // after it comes scratch
};

Status makeMatmul(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
// Of matmul_bias_grad and matmul_bias_grad_a.
Status makeMatmulBiasGrad(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
Status makeMatmulPack(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
// Any type, sums in f64 for f64 and otherwise in f32.
Status makeReferenceMatmul(const MatmulShape &shape, int threads, std::unique_ptr<HostKernel> *result);

} // namespace cleave::rt

#endif

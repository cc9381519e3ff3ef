// Matrix multiplication on the host: oneDNN where it has the type, otherwise a blocked reference kernel.
#ifndef CLEAVE_KERNELS_MATMUL_HOST_MATMUL_H
#define CLEAVE_KERNELS_MATMUL_HOST_MATMUL_H

#include "kernels/common/host/HostKernel.h"

namespace cleave::rt {

// The parameters of Kernels.def, checked.
struct MatmulShape {
  int64_t batch, batchA, batchB, m, n, k;
  bool transposeA, transposeB, accumulate, packedB;
  fb::DType dtype, outDtype;

  static Status read(const KernelArgs &args, MatmulShape *result);
  std::vector<size_t> operandBytes() const; // a, b, c
};

Status makeMatmul(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
Status makeMatmulPack(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
// f64 and f16, and bf16 where the machine has no instructions for it. Sums in f64 for f64, otherwise in f32.
Status makeReferenceMatmul(const MatmulShape &shape, int threads, std::unique_ptr<HostKernel> *result);

} // namespace cleave::rt

#endif

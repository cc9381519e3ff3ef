#include "kernels/pooling/host/RowMaxima.h"

namespace cleave::rt {

namespace {

void planeBaseline(const RowMaxima<float> &maxima, const float *x, float *y) { maxima.planeInline(x, y); }

#if defined(__x86_64__)
__attribute__((target("avx2"))) void planeAvx2(const RowMaxima<float> &maxima, const float *x, float *y) {
  maxima.planeInline(x, y);
}
#endif

} // namespace

PlaneMaximaF32 choosePlaneMaximaF32() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return planeAvx2;
#endif
  return planeBaseline;
}

} // namespace cleave::rt

#include "kernels/pooling/host/RowMaxima.h"

namespace cleave::rt {

namespace {

// A constant stride is what lets the compiler load whole vectors and shuffle.
inline __attribute__((always_inline)) void meetAnyStride(const float *x, int64_t stride, int64_t count, float *value) {
  if (stride == 1)
    meetValues(x, 1, count, value);
  else if (stride == 2)
    meetValues(x, 2, count, value);
  else
    meetValues(x, stride, count, value);
}

void meetBaseline(const float *x, int64_t stride, int64_t count, float *value) {
  meetAnyStride(x, stride, count, value);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void meetAvx2(const float *x, int64_t stride, int64_t count, float *value) {
  meetAnyStride(x, stride, count, value);
}
#endif

} // namespace

MeetValuesF32 chooseMeetValuesF32() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return meetAvx2;
#endif
  return meetBaseline;
}

} // namespace cleave::rt

#include "kernels/pooling/host/WindowMaxima.h"

namespace cleave::rt {

namespace {

// With a constant stride, the compiler loads whole vectors and shuffles them.
inline __attribute__((always_inline)) void meetAnyStride(const float *x, int64_t stride, int64_t count, int32_t tap,
                                                         float *value, int32_t *taps) {
  if (stride == 1)
    meetTap(x, 1, count, tap, value, taps);
  else if (stride == 2)
    meetTap(x, 2, count, tap, value, taps);
  else
    meetTap(x, stride, count, tap, value, taps);
}

void meetBaseline(const float *x, int64_t stride, int64_t count, int32_t tap, float *value, int32_t *taps) {
  meetAnyStride(x, stride, count, tap, value, taps);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void meetAvx2(const float *x, int64_t stride, int64_t count, int32_t tap, float *value,
                                              int32_t *taps) {
  meetAnyStride(x, stride, count, tap, value, taps);
}
#endif

} // namespace

MeetTapF32 chooseMeetTapF32() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return meetAvx2;
#endif
  return meetBaseline;
}

} // namespace cleave::rt

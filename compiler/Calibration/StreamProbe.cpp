#include "compiler/Calibration/Probes.h"
#include "compiler/Calibration/Stopwatch.h"

#include <algorithm>
#include <memory>
#include <omp.h>

// The best form for the machine is chosen when the program starts, because generated kernels are compiled for the
// machine.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define CLEAVE_FOR_ITS_VECTORS __attribute__((noinline, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLEAVE_FOR_ITS_VECTORS __attribute__((noinline))
#endif

namespace cleave::calibration {

namespace {

CLEAVE_FOR_ITS_VECTORS void addFloats(const float *__restrict a, const float *__restrict b, float *__restrict c,
                                      size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i)
    c[i] = a[i] + b[i];
}

// Computes a polynomial of each element: `kTerms` multiply-adds.
constexpr int kTerms = 32;

// Works on blocks of several vectors, so that the units need not wait for a result.
template <typename T> inline __attribute__((always_inline)) void polynomial(T *values, size_t count) {
  constexpr size_t kBlock = 512 / sizeof(T);
  for (size_t i = 0; i < count; i += kBlock) {
    T x[kBlock], sum[kBlock];
    for (size_t j = 0; j < kBlock; ++j) {
      x[j] = values[i + j];
      sum[j] = T(0.25);
    }
    for (int term = 0; term < kTerms; ++term)
      for (size_t j = 0; j < kBlock; ++j)
        sum[j] = sum[j] * x[j] + T(0.125);
    for (size_t j = 0; j < kBlock; ++j)
      values[i + j] = sum[j];
  }
}
CLEAVE_FOR_ITS_VECTORS void polynomialOfFloats(float *values, size_t count) { polynomial(values, count); }
CLEAVE_FOR_ITS_VECTORS void polynomialOfDoubles(double *values, size_t count) { polynomial(values, count); }

// Calls `body` with the begin and end of each thread's part.
template <typename Body> void split(unsigned threads, size_t count, const Body &body) {
  if (threads == 1)
    return body(0, count);
#pragma omp parallel num_threads(threads)
  {
    auto team = static_cast<size_t>(omp_get_num_threads()), index = static_cast<size_t>(omp_get_thread_num());
    body(count * index / team, count * (index + 1) / team);
  }
}

template <typename T> double rateOf(unsigned threads, void (*function)(T *, size_t)) {
  constexpr size_t kCount = 2048; // whole blocks, in the nearest cache
  std::vector<std::vector<T>> values(threads, std::vector<T>(kCount, T(0.5)));
  double seconds = quartileSeconds(
      [&] {
        split(threads, threads, [&](size_t begin, size_t end) {
          for (size_t i = begin; i < end; ++i)
            for (int again = 0; again < 8; ++again)
              function(values[i].data(), kCount);
        });
      },
      threads, 2e-2);
  return 8.0 * 2 * kTerms * kCount * threads / seconds;
}

} // namespace

std::vector<TrafficPoint> measureTraffic(unsigned threads) {
  std::vector<TrafficPoint> points;
  constexpr size_t kMost = size_t{256} << 20;
  std::vector<float> memory(kMost / sizeof(float), 1.0f);
  for (size_t bytes = size_t{32} << 10; bytes <= kMost; bytes *= 2) {
    size_t count = bytes / 3 / sizeof(float) / 64 * 64;
    float *a = memory.data(), *b = a + count, *c = b + count;
    unsigned team = bytes < (size_t{96} << 10) ? 1 : threads;
    double seconds = quartileSeconds(
        [&] { split(team, count, [&](size_t begin, size_t end) { addFloats(a, b, c, begin, end); }); }, team, 2e-2);
    points.push_back({static_cast<double>(bytes), 3.0 * static_cast<double>(count * sizeof(float)) / seconds});
    if (points.size() > 1) // a larger distance cannot be faster: a higher rate is noise
      points.back().bytesPerSecond = std::min(points.back().bytesPerSecond, points.end()[-2].bytesPerSecond);
  }
  return points;
}

double measureVectorRate(unsigned threads, bool isDouble) {
  return isDouble ? rateOf<double>(threads, polynomialOfDoubles) : rateOf<float>(threads, polynomialOfFloats);
}

double measureLaunch(unsigned threads) {
  float values[3][64] = {};
  return quartileSeconds(
      [&] {
        split(threads, 64, [&](size_t begin, size_t end) { addFloats(values[0], values[1], values[2], begin, end); });
      },
      threads, 2e-2);
}

} // namespace cleave::calibration

// Convolutions, pools and their gradients compared with loops in float64, which share no code with the kernels.
#include "test/runtime/device/KernelHarness.h"

using namespace cleave::rt;
using namespace cleave::rt::test;

namespace {

// Two spatial dimensions, with the same kernel, stride, dilation and padding.
struct Case {
  int64_t n, ic, oc, groups, h, w, kernel, stride, dilation, padLow, padHigh;
  int64_t outOf(int64_t in) const { return (in + padLow + padHigh - dilation * (kernel - 1) - 1) / stride + 1; }
  int64_t oh() const { return outOf(h); }
  int64_t ow() const { return outOf(w); }
};

const Case cases[] = {{2, 3, 8, 1, 9, 7, 3, 1, 1, 1, 1},    {1, 4, 6, 2, 8, 8, 3, 2, 1, 0, 1},
                      {2, 16, 16, 1, 7, 7, 1, 1, 1, 0, 0},  {1, 6, 6, 6, 10, 5, 3, 1, 2, 2, 2},
                      {3, 1, 32, 1, 12, 12, 5, 1, 1, 0, 0}, {1, 2, 3, 1, 6, 6, 2, 3, 1, 0, 2},
                      // The library has separate kernels for depth-wise convolutions, and for strides with kernels of
                      // 1.
                      {2, 72, 72, 72, 9, 11, 5, 2, 1, 2, 2}, {1, 32, 32, 32, 7, 9, 3, 1, 1, 1, 1},
                      {2, 48, 40, 1, 9, 8, 1, 2, 1, 0, 0}};

// Windows only for pools: rows of several vectors, rows of several lines, windows and strides longer than a line, and
// windows that are completely in the padding.
const Case poolCases[] = {{2, 2, 0, 0, 7, 40, 2, 2, 1, 0, 0},         {1, 3, 0, 0, 9, 27, 3, 2, 1, 1, 1},
                          {1, 1, 0, 0, 3, 2100, 3, 1, 1, 1, 1},       {1, 1, 0, 0, 5, 2100, 3, 2, 2, 2, 2},
                          {1, 1, 0, 0, 4, 2101, 2, 3, 1, 0, 0},       {1, 1, 0, 0, 2, 3, 1, 1, 1, 12, 12},
                          {1, 1, 0, 0, 9, 3000, 3, 150, 1, 1, 1},     {1, 1, 0, 0, 2, 6, 2, 2, 1, 1500, 1500},
                          {1, 1, 0, 0, 4, 40, 2, 9, 1030, 1030, 1030}};

KernelParams windowParams(const char *name, const Case &c, fb::DType dtype) {
  KernelParams params(*findKernelDef(name));
  params.set("dtype", int64_t(dtype)).set("n", c.n).set("rank", 2).set("in", {c.h, c.w}).set("out", {c.oh(), c.ow()});
  params.set("kernel", {c.kernel, c.kernel}).set("stride", {c.stride, c.stride});
  params.set("dilation", {c.dilation, c.dilation}).set("pad_low", {c.padLow, c.padLow});
  params.set("pad_high", {c.padHigh, c.padHigh});
  return params;
}

// Calls visit(x index, w index, y index) for every product of the convolution.
template <typename Visit> void forEachProduct(const Case &c, Visit visit) {
  int64_t gi = c.ic / c.groups, go = c.oc / c.groups;
  for (int64_t n = 0; n < c.n; ++n)
    for (int64_t o = 0; o < c.oc; ++o)
      for (int64_t y = 0; y < c.oh(); ++y)
        for (int64_t x = 0; x < c.ow(); ++x)
          for (int64_t i = 0; i < gi; ++i)
            for (int64_t ky = 0; ky < c.kernel; ++ky)
              for (int64_t kx = 0; kx < c.kernel; ++kx) {
                int64_t h = y * c.stride - c.padLow + ky * c.dilation, w = x * c.stride - c.padLow + kx * c.dilation;
                if (h < 0 || h >= c.h || w < 0 || w >= c.w)
                  continue;
                visit(static_cast<size_t>(((n * c.ic + o / go * gi + i) * c.h + h) * c.w + w),
                      static_cast<size_t>(((o * gi + i) * c.kernel + ky) * c.kernel + kx),
                      static_cast<size_t>(((n * c.oc + o) * c.oh() + y) * c.ow() + x));
              }
}

// Returns a tensor [n, channels, positions] with its channels last.
Values channelsLast(const Values &plain, int64_t n, int64_t channels) {
  auto count = static_cast<size_t>(channels), samples = static_cast<size_t>(n);
  size_t positions = plain.size() / samples / count;
  Values last(plain.size());
  for (size_t i = 0; i < samples; ++i)
    for (size_t c = 0; c < count; ++c)
      for (size_t at = 0; at < positions; ++at)
        last[(i * positions + at) * count + c] = plain[(i * count + c) * positions + at];
  return last;
}

TEST(Convolution, MatchesFloat64) {
  for (fb::DType dtype : {fb::DType::f32, fb::DType::f64, fb::DType::bf16, fb::DType::f16})
    for (const Case &c : cases)
      for (int threads : {1, 2}) {
        Values x = sine(static_cast<size_t>(c.n * c.ic * c.h * c.w), 1),
               y(static_cast<size_t>(c.n * c.oc * c.oh() * c.ow()));
        Values w = sine(static_cast<size_t>(c.oc * (c.ic / c.groups) * c.kernel * c.kernel), 2), dy = sine(y.size(), 3);
        Values dx(x.size()), dw(w.size());
        forEachProduct(c, [&](size_t xi, size_t wi, size_t yi) {
          y[yi] += x[xi] * w[wi];
          dx[xi] += dy[yi] * w[wi];
          dw[wi] += dy[yi] * x[xi];
        });
        auto params = [&](const char *name) {
          KernelParams p = windowParams(name, c, dtype);
          return p.set("ic", c.ic).set("oc", c.oc).set("groups", c.groups);
        };
        double tolerance = 2 * toleranceOf(dtype);
        std::string what = std::string(fb::EnumNameDType(dtype)) + " case " + std::to_string(&c - cases);
        expectClose(runKernel("convolution", params("convolution"), {{dtype, x}, {dtype, w}, {dtype, Values(y.size())}},
                              threads),
                    y, tolerance, "y " + what);
        expectClose(runKernel("convolution", params("convolution").set("channels_last", 1),
                              {{dtype, channelsLast(x, c.n, c.ic)}, {dtype, w}, {dtype, Values(y.size())}}, threads),
                    channelsLast(y, c.n, c.oc), tolerance, "channels-last y " + what);
        expectClose(runKernel("convolution_input_grad", params("convolution_input_grad"),
                              {{dtype, dy}, {dtype, w}, {dtype, Values(x.size())}}, threads),
                    dx, tolerance, "dx " + what);
        expectClose(runKernel("convolution_weight_grad", params("convolution_weight_grad"),
                              {{dtype, x}, {dtype, dy}, {dtype, Values(w.size())}}, threads),
                    dw, tolerance, "dw " + what);
      }
}

// There is a bias only for f32 with channels last.
TEST(Convolution, AddsABias) {
  fb::DType f32 = fb::DType::f32;
  for (const Case &c : cases)
    for (int threads : {1, 2}) {
      Values x = sine(static_cast<size_t>(c.n * c.ic * c.h * c.w), 1), bias = sine(static_cast<size_t>(c.oc), 4);
      Values w = sine(static_cast<size_t>(c.oc * (c.ic / c.groups) * c.kernel * c.kernel), 2);
      Values y(static_cast<size_t>(c.n * c.oc * c.oh() * c.ow()));
      for (size_t i = 0; i < y.size(); ++i)
        y[i] = bias[i / static_cast<size_t>(c.oh() * c.ow()) % bias.size()];
      forEachProduct(c, [&](size_t xi, size_t wi, size_t yi) { y[yi] += x[xi] * w[wi]; });
      KernelParams p = windowParams("convolution_bias", c, f32);
      p.set("ic", c.ic).set("oc", c.oc).set("groups", c.groups).set("channels_last", 1);
      expectClose(runKernel("convolution_bias", p,
                            {{f32, channelsLast(x, c.n, c.ic)}, {f32, w}, {f32, bias}, {f32, Values(y.size())}}, threads),
                  channelsLast(y, c.n, c.oc), 2 * toleranceOf(f32), "case " + std::to_string(&c - cases));
    }
}

// A single chain of 256 * 9 additions in f32 would have an error of 5e-7 of the result's norm.
static void checkRoundsLittle(int64_t ic, int64_t oc, int64_t size) {
  fb::DType f32 = fb::DType::f32;
  Case c{2, ic, oc, 1, size, size, 3, 1, 1, 1, 1};
  Values x = noise(static_cast<size_t>(c.n * c.ic * c.h * c.w), 1), w = noise(static_cast<size_t>(c.oc * c.ic * 9), 2);
  Values y(static_cast<size_t>(c.n * c.oc * c.oh() * c.ow())), dy = noise(y.size(), 3), dx(x.size()), dw(w.size());
  forEachProduct(c, [&](size_t xi, size_t wi, size_t yi) {
    y[yi] += x[xi] * w[wi];
    dx[xi] += dy[yi] * w[wi];
    dw[wi] += dy[yi] * x[xi];
  });
  auto run = [&](const char *name, const Values &a, const Values &b, const Values &result) {
    KernelParams p = windowParams(name, c, f32);
    p.set("ic", c.ic).set("oc", c.oc).set("groups", c.groups);
    return runKernel(name, p, {{f32, a}, {f32, b}, {f32, Values(result.size())}}, 1);
  };
  EXPECT_LE(relativeError(run("convolution", x, w, y), y), 3e-7);
  EXPECT_LE(relativeError(run("convolution_input_grad", dy, w, dx), dx), 3e-7);
  EXPECT_LE(relativeError(run("convolution_weight_grad", x, dy, dw), dw), 3e-7);
}
TEST(Convolution, ManyInputChannelsRoundLittle) { checkRoundsLittle(256, 32, 4); }
TEST(Convolution, ManyOutputChannelsRoundLittle) { checkRoundsLittle(32, 256, 4); }
TEST(Convolution, ChannelsThatFillNoBlockRoundLittle) { checkRoundsLittle(131, 101, 7); }

std::vector<Case> allPoolCases() {
  std::vector<Case> all(std::begin(cases), std::end(cases));
  all.insert(all.end(), std::begin(poolCases), std::end(poolCases));
  return all;
}

// The results are sums in f32 of a few terms below 1, rounded once. So each has an error of at most half a unit in the
// last place of the 16-bit type.
void expectRoundedOnce(const Values &got, const Values &exact, fb::DType dtype, const std::string &what) {
  double place = dtype == fb::DType::bf16 ? 0x1p-8 : dtype == fb::DType::f16 ? 0x1p-11 : 0x1p-24;
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], exact[i], std::abs(exact[i]) * place + 1e-5) << what << " element " << i;
}

TEST(Pooling, MatchesFloat64) {
  for (fb::DType dtype : {fb::DType::f32, fb::DType::f64, fb::DType::bf16, fb::DType::f16})
    for (Case c : allPoolCases())
      for (bool countPad : {false, true}) {
        c.oc = c.groups = c.ic; // a pool visits the same elements as a depth-wise convolution
        Values x = rounded(dtype, sine(static_cast<size_t>(c.n * c.ic * c.h * c.w), 1));
        x[0] = x[1]; // a tie
        Values dy = rounded(dtype, sine(static_cast<size_t>(c.n * c.ic * c.oh() * c.ow()), 2));
        double tolerance = std::max(1e-5, dtypeSize(dtype) == 2 ? toleranceOf(dtype) : 0);
        Values most(dy.size(), -INFINITY), sum(dy.size()), count(dy.size()), dMax(x.size()), dAvg(x.size());
        std::vector<size_t> best(dy.size());
        forEachProduct(c, [&](size_t xi, size_t, size_t yi) {
          sum[yi] += x[xi];
          count[yi] += 1;
          if (x[xi] > most[yi]) {
            most[yi] = x[xi];
            best[yi] = xi;
          }
        });
        for (size_t i = 0; i < dy.size(); ++i)
          if (countPad)
            count[i] = static_cast<double>(c.kernel * c.kernel); // in all cases windows end inside the padding
        forEachProduct(c, [&](size_t xi, size_t, size_t yi) { dAvg[xi] += dy[yi] / count[yi]; });
        for (size_t i = 0; i < dy.size(); ++i) {
          sum[i] /= std::max(count[i], 1.0);
          if (most[i] > -INFINITY)
            dMax[best[i]] += dy[i];
        }
        auto params = [&](const char *name, bool average) {
          KernelParams p = windowParams(name, c, dtype);
          p.set("c", c.ic);
          return average ? p.set("count_pad", countPad) : p;
        };
        Values in(x.size()), out(dy.size());
        expectClose(runKernel("avg_pool", params("avg_pool", true), {{dtype, x}, {dtype, out}}, 2), sum, tolerance,
                    "avg");
        Values last = channelsLast(x, c.n, c.ic);
        expectClose(runKernel("avg_pool", params("avg_pool", true).set("channels_last", 1), {{dtype, last}, {dtype, out}}, 2),
                    channelsLast(sum, c.n, c.ic), tolerance, "channels-last avg");
        Values gotAvg = runKernel("avg_pool_grad", params("avg_pool_grad", true), {{dtype, dy}, {dtype, in}}, 2);
        expectClose(gotAvg, dAvg, tolerance, "avg grad");
        expectRoundedOnce(gotAvg, dAvg, dtype, "avg grad");
        Values pooled = runKernel("max_pool", params("max_pool", false), {{dtype, x}, {dtype, out}}, 2);
        EXPECT_EQ(runKernel("max_pool", params("max_pool", false).set("channels_last", 1), {{dtype, last}, {dtype, out}}, 2),
                  channelsLast(pooled, c.n, c.ic));
        for (size_t i = 0; i < most.size(); ++i)
          if (std::isfinite(most[i])) {
            ASSERT_NEAR(pooled[i], most[i], 1e-6);
          } else {
            ASSERT_EQ(pooled[i], most[i]);
          }
        Values gotMax =
            runKernel("max_pool_grad", params("max_pool_grad", false), {{dtype, x}, {dtype, dy}, {dtype, in}}, 2);
        expectClose(gotMax, dMax, tolerance, "max grad");
        expectRoundedOnce(gotMax, dMax, dtype, "max grad");
      }
}

} // namespace

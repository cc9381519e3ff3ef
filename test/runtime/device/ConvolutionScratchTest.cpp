// Tests that the scratch of a convolution depends only on its parameters, as that of a product
// (ProductScratchTest.cpp): a run must need exactly what the compiler plans, whatever kernels either of them has made
// before. This is not obvious: the library caches primitives, and treats descriptors as equal that differ only in the
// stride of a dimension of 1. Such are the descriptors of tensors of one channel, one position or one sample in the two
// memory forms. Therefore only tensors with channels last are described as they are stored (DnnlConvolution::forward).
// If the others were, too, a convolution of one channel would plan 256 bytes after the other form and 3456 alone, and
// this test would fail.
#include "test/runtime/device/KernelHarness.h"

#include <oneapi/dnnl/dnnl.hpp>

using namespace cleave::rt;
using namespace cleave::rt::test;

namespace {

struct Shape {
  int64_t n, ic, oc, groups, size, kernel, stride, pad;
  int64_t out() const { return (size + 2 * pad - kernel) / stride + 1; }
};

// A kernel of the library. It is made for one shape.
struct Made {
  const char *name;
  bool channelsLast;
  int64_t packed;
};
constexpr Made kMade[] = {{"convolution", false, 0},
                          {"convolution", true, 0},
                          {"convolution", false, 1},
                          {"convolution", true, 1},
                          {"convolution_pack_w", false, 1},
                          {"convolution_pack_w", true, 1},
                          {"convolution_bias", true, 0},
                          {"convolution_input_grad", false, 0},
                          {"convolution_weight_grad", false, 0}};

size_t scratchOf(const Shape &s, const Made &made, fb::DType dtype, int threads) {
  KernelParams params(*findKernelDef(made.name));
  params.set("dtype", int64_t(dtype)).set("n", s.n).set("ic", s.ic).set("oc", s.oc).set("groups", s.groups);
  params.set("rank", 2).set("in", {s.size, s.size}).set("out", {s.out(), s.out()});
  params.set("kernel", {s.kernel, s.kernel}).set("stride", {s.stride, s.stride}).set("dilation", {1, 1});
  params.set("pad_low", {s.pad, s.pad}).set("pad_high", {s.pad, s.pad});
  if (made.channelsLast)
    params.set("channels_last", 1);
  if (made.packed)
    params.set("packed_w", made.packed);
  std::vector<int64_t> list;
  size_t bytes = 0;
  EXPECT_TRUE(params.finish(&list).isOk()) << made.name;
  EXPECT_TRUE(hostScratchBytes(made.name, list, threads, &bytes).isOk()) << made.name;
  return bytes;
}

std::string formOf(const Made &made) {
  return std::string(made.channelsLast ? " (channels last)" : "") + (made.packed ? " (packed)" : "");
}

void forgetPrimitives() {
  int capacity = dnnl::get_primitive_cache_capacity();
  dnnl::set_primitive_cache_capacity(0);
  dnnl::set_primitive_cache_capacity(capacity);
}

// A bias is added only in f32.
bool exists(const Made &made, fb::DType dtype) {
  return dtype == fb::DType::f32 || std::string(made.name) != "convolution_bias";
}

// Makes every kernel of the shape after each of the others.
void checkAfterEachOther(const Shape &s, fb::DType dtype, int threads) {
  for (const Made &after : kMade) {
    if (!exists(after, dtype))
      continue;
    forgetPrimitives();
    size_t alone = scratchOf(s, after, dtype, threads);
    for (const Made &before : kMade) {
      if (!exists(before, dtype))
        continue;
      forgetPrimitives();
      scratchOf(s, before, dtype, threads);
      EXPECT_EQ(scratchOf(s, after, dtype, threads), alone)
          << fb::EnumNameDType(dtype) << " " << s.n << " x " << s.ic << " -> " << s.oc << " in " << s.groups
          << " groups, " << s.size << " with windows of " << s.kernel << " at every " << s.stride << " on " << threads
          << " threads: " << after.name << formOf(after) << " after " << before.name
          << formOf(before);
    }
  }
}

TEST(ConvolutionScratch, DoesNotDependOnWhatWasMadeBefore) {
  int64_t shapes = 0;
  for (auto [ic, oc, groups] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {1, 8, 1}, {8, 1, 1}, {3, 16, 1},
                                {16, 16, 16}, {16, 32, 16}, {2, 2, 2}, {16, 16, 1}, {6, 4, 2}})
    for (auto [size, kernel, stride, pad] :
         {std::tuple<int64_t, int64_t, int64_t, int64_t>{1, 1, 1, 0}, {7, 1, 1, 0}, {7, 1, 2, 0}, {7, 7, 1, 0},
          {1, 3, 1, 1}, {8, 3, 1, 1}, {8, 2, 2, 0}, {9, 3, 2, 1}})
      for (int64_t n : {1, 3})
        for (fb::DType dtype : {fb::DType::f32, fb::DType::bf16})
          for (int threads : {1, 2}) {
            checkAfterEachOther({n, ic, oc, groups, size, kernel, stride, pad}, dtype, threads);
            ++shapes;
          }
  EXPECT_EQ(shapes, 9 * 8 * 2 * 2 * 2);
}

} // namespace

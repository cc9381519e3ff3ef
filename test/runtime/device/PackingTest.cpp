// A kernel computes the same from the packed weights that its packer has written as from plain weights.
#include "kernels/common/host/Dnnl.h"
#include "test/runtime/device/KernelHarness.h"

#include <tuple>

using namespace cleave::rt;
using namespace cleave::rt::test;

namespace {

using Buffer = std::unique_ptr<std::byte, decltype(&std::free)>;

Buffer allocate(size_t bytes) {
  return {static_cast<std::byte *>(std::aligned_alloc(64, (bytes + 127) / 64 * 64)), &std::free};
}

std::unique_ptr<HostKernel> make(const std::string &name, const KernelParams &params, std::vector<int64_t> *list) {
  KernelArgs args;
  std::unique_ptr<HostKernel> kernel;
  EXPECT_TRUE(params.finish(list).isOk());
  EXPECT_TRUE(KernelArgs::read(*findKernelDef(name), *list, &args).isOk());
  EXPECT_TRUE(makeHostKernel(args, 1, &kernel).isOk());
  return kernel;
}

// The product in f64.
Values runWide(const std::string &name, KernelParams params, std::vector<Operand> operands) {
  params.set("packed_b", 0).set("dtype", int64_t(fb::DType::f64)).set("out_dtype", int64_t(fb::DType::f64));
  for (Operand &operand : operands)
    operand.dtype = fb::DType::f64;
  return runKernel(name.c_str(), params, operands, 1);
}

// Scaled so that the norm of a sum of `k` products of these and noise() is about 1.
Values scaledNoise(int64_t count, int64_t k, unsigned seed) {
  Values values = noise(static_cast<size_t>(count), seed);
  for (double &value : values)
    value = static_cast<float>(value / std::sqrt(static_cast<double>(k)));
  return values;
}

// If `name` wants another format of buffer 1 that needs no more bytes, packs it and compares. Returns whether it did.
bool checkPacked(const std::string &name, const std::string &buffer, KernelParams params,
                 const std::vector<Operand> &operands, const std::string &what, int64_t form = 1) {
  const Operand &weights = operands[1], &y = operands.back();
  Values expected = runKernel(name.c_str(), params, operands, 1);
  params.set("packed_" + buffer, form);
  std::vector<int64_t> list;
  std::unique_ptr<HostKernel> packer = make(name + "_pack_" + buffer, params, &list);
  std::vector<size_t> bytes = packer->bufferBytes();
  size_t packed = 0, plain = weights.values.size() * dtypeSize(weights.dtype);
  EXPECT_TRUE(hostPackedBytes(name + "_pack_" + buffer, list, 1, &packed).isOk());
  EXPECT_EQ(packed, bytes[1] ? bytes[0] : 0) << what;
  if (packed == 0 || packed > plain)
    return false;
  Buffer w = allocate(bytes[0]), scratch = allocate(bytes[1]);
  store(weights.dtype, weights.values, w.get());
  void *packing[] = {w.get(), scratch.get()};
  EXPECT_TRUE(packer->run(packing).isOk());

  std::unique_ptr<HostKernel> kernel = make(name, params, &list);
  std::vector<size_t> sizes = kernel->bufferBytes();
  EXPECT_LE(sizes[1], plain) << what;
  std::vector<Buffer> made;
  std::vector<void *> buffers;
  for (size_t size : sizes)
    buffers.push_back(made.emplace_back(allocate(size)).get());
  for (size_t i = 0; i < operands.size(); ++i)
    store(operands[i].dtype, operands[i].values, buffers[i]);
  buffers[1] = w.get();
  EXPECT_TRUE(kernel->run(buffers.data()).isOk());
  Values got = load(y.dtype, buffers[operands.size() - 1], y.values.size());
  expectClose(got, expected, toleranceOf(y.dtype), what);
  // The bounds are twice PyTorch's errors for sums of 3072 products of such numbers: 2.6e-7, and 5.2e-7 for one row.
  // The library's single chain has an error of 5.7e-7.
  if (y.dtype == fb::DType::f32 && buffer == "b") {
    bool isRow = weights.values.size() == operands[0].values.size() * y.values.size(); // m is 1
    EXPECT_LE(relativeError(got, runWide(name, params, operands)), isRow ? 1.04e-6 : 5.2e-7) << what;
  }
  return true;
}

bool checkMatmul(const std::string &name, fb::DType dtype, int64_t m, int64_t n, int64_t k, bool transposed) {
  KernelParams params(*findKernelDef(name));
  params.set("dtype", int64_t(dtype)).set("out_dtype", int64_t(dtype)).set("batch", 1).set("batch_a", 1);
  params.set("batch_b", 1).set("m", m).set("n", n).set("k", k).set("transpose_a", 0);
  params.set("transpose_b", transposed);
  std::vector<Operand> operands = {{dtype, scaledNoise(m * k, k, 1)},
                                   {dtype, noise(static_cast<size_t>(k * n), 2)},
                                   {dtype, Values(static_cast<size_t>(m * n))}};
  if (name == "matmul_bias")
    operands.insert(operands.begin() + 2, {dtype, sine(static_cast<size_t>(n), 3)});
  return checkPacked(name, "b", params, operands,
                     name + " " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k));
}

bool checkConvolution(fb::DType dtype, int64_t ic, int64_t oc, int64_t kernel) {
  KernelParams params(*findKernelDef("convolution"));
  int64_t size = 9, out = size - kernel + 1;
  params.set("dtype", int64_t(dtype)).set("n", 2).set("ic", ic).set("oc", oc).set("groups", 1).set("rank", 2);
  params.set("in", {size, size}).set("out", {out, out}).set("kernel", {kernel, kernel}).set("stride", {1, 1});
  params.set("dilation", {1, 1}).set("pad_low", {0, 0}).set("pad_high", {0, 0});
  return checkPacked("convolution", "w", params,
                     {{dtype, sine(static_cast<size_t>(2 * ic * size * size), 1)},
                      {dtype, sine(static_cast<size_t>(oc * ic * kernel * kernel), 2)},
                      {dtype, Values(static_cast<size_t>(2 * oc * out * out))}},
                     "convolution " + std::to_string(ic));
}

TEST(Packing, LeavesWhatTheKernelReads) {
  // The library chooses the formats. Some of these usual sizes are packed on every machine.
  int packed = checkConvolution(fb::DType::f32, 32, 64, 3);
  packed += checkConvolution(fb::DType::f32, 3, 8, 3);
  packed += checkConvolution(fb::DType::f32, 64, 64, 1);
  for (std::string name : {"matmul", "matmul_bias"})
    for (bool transposed : {false, true}) {
      packed += checkMatmul(name, fb::DType::f32, 1, 128, 512, transposed);
      packed += checkMatmul(name, fb::DType::f32, 40, 64, 64, transposed);
      packed += checkMatmul(name, fb::DType::f32, 5, 10, 33, transposed);
    }
  EXPECT_GT(packed, 0);
}

// Channels that fill blocks of 8 but not of 16: their packed form fits only for vectors of half the width. So do gates,
// whose images have one position in either layout.
TEST(Packing, FormsForHalfVectorsFitWhereWholeOnesDoNot) {
  if (!DnnlBuilder::hasAvx512())
    GTEST_SKIP() << "without AVX-512 the first form is that one";
  for (auto [ic, oc, size] : {std::tuple(64, 24, 6), {72, 40, 6}, {24, 72, 6}, {480, 120, 1}, {672, 168, 1}})
    for (int64_t isLast : {0, 1}) {
      if (size > 1 && !isLast)
        continue; // plain layouts of images keep the library's choice
      KernelParams params(*findKernelDef("convolution"));
      params.set("dtype", int64_t(fb::DType::f32)).set("n", 2).set("ic", ic).set("oc", oc).set("groups", 1);
      params.set("rank", 2)
          .set("in", {size, size})
          .set("out", {size, size})
          .set("kernel", {1, 1})
          .set("stride", {1, 1});
      params.set("dilation", {1, 1}).set("pad_low", {0, 0}).set("pad_high", {0, 0}).set("channels_last", isLast);
      std::vector<Operand> operands = {{fb::DType::f32, scaledNoise(2 * ic * size * size, ic, 1)},
                                       {fb::DType::f32, noise(static_cast<size_t>(oc * ic), 2)},
                                       {fb::DType::f32, Values(static_cast<size_t>(2 * oc * size * size))}};
      std::string what = std::to_string(ic) + " to " + std::to_string(oc);
      EXPECT_FALSE(checkPacked("convolution", "w", params, operands, what, 1)) << what;
      EXPECT_TRUE(checkPacked("convolution", "w", params, operands, what, 2)) << what;
    }
}

// If the library computes by blocks, a weight of whole blocks (16 x 64 numbers) is packed, whichever way it is stored.
TEST(Packing, WholeBlocksArePacked) {
  if (!DnnlBuilder::hasAvx512())
    GTEST_SKIP() << "the library has formats of its own for products on AVX-512";
  std::mt19937 random(1);
  auto pick = [&](std::vector<int64_t> values) { return values[random() % values.size()]; };
  for (int i = 0; i < 24; ++i)
    for (bool transposed : {false, true}) {
      int64_t m = pick({1, 2, 16, 40, 128}), n = pick({64, 128, 192, 448}),
              k = pick({16, 64, 768, 1024, 1040, 2064, 3072});
      EXPECT_TRUE(checkMatmul(pick({0, 1}) ? "matmul_bias" : "matmul", fb::DType::f32, m, n, k, transposed))
          << m << "x" << n << "x" << k << (transposed ? ", transposed" : "");
    }
}

// A weight that would be larger in blocks is stored by rows.
TEST(Packing, PaddingNeverNeedsMoreThanThePlainBytes) {
  std::mt19937 random(2);
  for (int i = 0; i < 40; ++i) {
    int64_t m = 1 + random() % 40, n = 1 + random() % 150, k = 1 + random() % 1300;
    for (fb::DType dtype : {fb::DType::f32, fb::DType::bf16}) {
      EXPECT_TRUE(checkMatmul("matmul", dtype, m, n, k, true) || n == 1 || k == 1 || dtype != fb::DType::f32)
          << m << "x" << n << "x" << k;
      checkMatmul("matmul_bias", dtype, m, n, k, false);
    }
  }
}

TEST(Packing, ReferenceKernelsReadPlainWeights) {
  EXPECT_FALSE(checkConvolution(fb::DType::f64, 32, 64, 3));
  EXPECT_FALSE(checkMatmul("matmul", fb::DType::f64, 1, 128, 512, true));
}

} // namespace

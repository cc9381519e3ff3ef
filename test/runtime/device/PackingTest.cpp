// A kernel that reads what its packer left computes what it computes from plain weights.
#include "test/runtime/device/KernelHarness.h"

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

// Packs buffer 1 where `name` wants another format in no more bytes; returns whether it did.
bool checkPacked(const std::string &name, const std::string &buffer, KernelParams params,
                 const std::vector<Operand> &operands, const std::string &what) {
  const Operand &weights = operands[1], &y = operands.back();
  Values expected = runKernel(name.c_str(), params, operands, 1);
  params.set("packed_" + buffer, 1);
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
  expectClose(load(y.dtype, buffers[operands.size() - 1], y.values.size()), expected, toleranceOf(y.dtype), what);
  return true;
}

bool checkMatmul(const std::string &name, fb::DType dtype, int64_t m, int64_t n, int64_t k, bool transposed) {
  KernelParams params(*findKernelDef(name));
  params.set("dtype", int64_t(dtype)).set("out_dtype", int64_t(dtype)).set("batch", 1).set("batch_a", 1);
  params.set("batch_b", 1).set("m", m).set("n", n).set("k", k).set("transpose_a", 0);
  params.set("transpose_b", transposed);
  std::vector<Operand> operands = {{dtype, sine(static_cast<size_t>(m * k), 1)},
                                   {dtype, sine(static_cast<size_t>(k * n), 2)},
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
  // Formats are the library's business; of usual sizes some are packed on any machine.
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

TEST(Packing, ReferenceKernelsReadPlainWeights) {
  EXPECT_FALSE(checkConvolution(fb::DType::f64, 32, 64, 3));
  EXPECT_FALSE(checkMatmul("matmul", fb::DType::f64, 1, 128, 512, true));
}

} // namespace

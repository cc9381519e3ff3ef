// Tests that a rank allocates no block above 4 KiB after its second step. Functions that count replace malloc and its
// relatives.
#include "kernels/common/host/HostKernel.h"
#include "runtime/comm/LocalWorld.h"
#include "runtime/device/Rank.h"
#include "test/runtime/device/PlanBuilder.h"

#include <atomic>
#include <cerrno>
#include <thread>

static std::atomic<bool> watching{false};
static std::atomic<size_t> largeAllocations{0}, largest{0};

static void note(size_t bytes) {
  if (!watching || bytes <= 4096)
    return;
  ++largeAllocations;
  largest = std::max(largest.load(), bytes);
}

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void *malloc(size_t bytes) {
  note(bytes);
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  note(count * bytes);
  return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
  note(bytes);
  return __libc_realloc(old, bytes);
}
void *memalign(size_t alignment, size_t bytes) {
  note(bytes);
  return __libc_memalign(alignment, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void **result, size_t alignment, size_t bytes) {
  *result = memalign(alignment, bytes);
  return *result ? 0 : ENOMEM;
}
}

using namespace cleave::rt;
using cleave::rt::test::PlanBuilder;

namespace {

// Adds a launch of a library kernel. Its operands and its scratch follow each other in a region of their own.
void addLibrary(PlanBuilder &b, fb::ProgramT &program, const char *name, const KernelParams &params, int threads) {
  std::vector<int64_t> list;
  KernelArgs args;
  std::unique_ptr<HostKernel> kernel;
  ASSERT_TRUE(params.finish(&list).isOk());
  ASSERT_TRUE(KernelArgs::read(*findKernelDef(name), list, &args).isOk());
  ASSERT_TRUE(makeHostKernel(args, threads, &kernel).isOk());
  unsigned region = b.region(name, fb::RegionKind::transient, 64 << 20);
  std::vector<fb::Buffer> buffers;
  uint64_t offset = 0;
  for (size_t bytes : kernel->bufferBytes()) {
    buffers.push_back(b.buffer(region, offset, bytes));
    offset += (bytes + 63) / 64 * 64;
  }
  int64_t number = b.kernel(fb::KernelKind::library, name, list);
  b.plan.kernels[static_cast<size_t>(number)]->scratch = kernel->bufferBytes().back();
  b.add(program, Opcode::Launch, 0, buffers, {number});
}

TEST(Rank, AllocatesNothingAfterTheSecondStep) {
  const int threads = 2;
  PlanBuilder b({{"dp", 2}});
  b.plan.threads = threads;
  unsigned data = b.region("data", fb::RegionKind::persistent, 1 << 20);
  auto dp = b.group({0});
  auto &step = b.program("train_step", 1);
  KernelParams matmul(*findKernelDef("matmul"));
  matmul.set("dtype", 0).set("out_dtype", 0).set("batch", 4).set("batch_a", 4).set("batch_b", 4).set("m", 100);
  matmul.set("n", 130).set("k", 70).set("transpose_a", 1).set("transpose_b", 1);
  addLibrary(b, step, "matmul", matmul, threads);
  for (const char *name : {"convolution", "convolution_input_grad", "convolution_weight_grad"}) {
    KernelParams params(*findKernelDef(name));
    params.set("dtype", 0).set("n", 8).set("ic", 32).set("oc", 48).set("groups", 1).set("rank", 2);
    params.set("in", {20, 20}).set("out", {18, 18}).set("kernel", {3, 3}).set("stride", {1, 1});
    params.set("dilation", {1, 1}).set("pad_low", {0, 0}).set("pad_high", {0, 0});
    addLibrary(b, step, name, params, threads);
  }
  b.add(step, Opcode::Record, 0, {}, {0});
  b.add(step, Opcode::Wait, 1, {}, {0});
  b.add(step, Opcode::AllReduce, 1, {b.buffer(data, 0, 1 << 19), b.buffer(data, 1 << 19, 1 << 18)},
        {dp, int64_t(fb::DType::f32), 0, 0, 1 << 17});
  const fb::Plan &plan = b.open();
  LocalWorld world(2);
  std::vector<std::thread> ranks;
  for (int r = 0; r < 2; ++r)
    ranks.emplace_back([&, r] {
      Rank rank;
      RankOptions options;
      options.rank = r;
      options.threads = threads;
      Communicator &comm = world.communicator(r);
      Status status = Rank::create(plan, nullptr, options, comm, &rank);
      const fb::Program &program = *findProgram(plan, "train_step");
      for (int i = 0; i < 6 && status.isOk(); ++i) {
        status = rank.run(program);
        if (status.isOk())
          status = comm.barrier();
        if (i == 1)
          watching = true;
      }
      EXPECT_TRUE(status.isOk()) << status.message();
      if (comm.barrier().isOk())
        watching = false;
    });
  for (std::thread &thread : ranks)
    thread.join();
  EXPECT_EQ(largeAllocations, 0u) << "the largest has " << largest << " bytes";
  watching = true; // test that the counter works
  operator delete(operator new(5000));
  watching = false;
  EXPECT_EQ(largeAllocations, 1u);
}

} // namespace

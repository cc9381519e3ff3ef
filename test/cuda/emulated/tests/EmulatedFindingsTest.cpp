// Planted mistakes of kernels. Each must be found with every seed, and the correct version of the kernel must pass.
#include "test/cuda/emulated/tests/DriverLibrary.h"

namespace cleave::emulated::test {
namespace {

class FindingsTest : public DriverTest {
protected:
  void SetUp() override {
    if (!d.isEmulated)
      GTEST_SKIP() << "mistakes are planted on the emulated device only";
    DriverTest::SetUp();
    module = std::make_unique<Module>(readText("planted.ptx"));
  }
  void TearDown() override {
    if (!d.isEmulated)
      return;
    clearFindings();
    setSeed(1);
    module.reset();
    DriverTest::TearDown();
  }
  // Runs a kernel with several seeds. Every run must end with this code and a finding that contains `text`.
  template <class... A>
  void expectFinding(int expected, const std::string &text, const char *kernel, Shape s, A... arguments) {
    for (uint64_t seed = 1; seed <= 5; seed++) {
      clearFindings();
      setSeed(seed);
      ASSERT_EQ(launch(module->function(kernel), s, nullptr, arguments...), code::Success);
      EXPECT_EQ(synchronize(), expected) << kernel << " with seed " << seed;
      EXPECT_NE(firstFinding().find(text), std::string::npos) << firstFinding();
    }
    clearFindings();
  }
  template <class... A> void expectNone(const char *kernel, Shape s, A... arguments) {
    for (uint64_t seed = 1; seed <= 10; seed++) {
      setSeed(seed);
      ASSERT_EQ(launch(module->function(kernel), s, nullptr, arguments...), code::Success);
      EXPECT_EQ(synchronize(), code::Success) << kernel << " with seed " << seed << ": " << firstFinding();
    }
  }

  std::unique_ptr<Module> module;
};

TEST_F(FindingsTest, MissingBarriers) {
  Buffer<float> y(256);
  expectFinding(code::LaunchFailed, "with no barrier between", "missing_barrier", {1, 256}, y.address);
  expectFinding(code::LaunchFailed, "with no barrier between", "missing_second_barrier", {1, 256}, y.address);
  expectFinding(code::LaunchFailed, "with no barrier between", "missing_warp_barrier", {1, 32}, y.address);
  expectNone("both_barriers", {1, 256}, y.address);
  expectNone("warp_barrier", {1, 32}, y.address);
}

TEST_F(FindingsTest, BarriersThatNeverComplete) {
  Buffer<float> y(64);
  expectFinding(code::LaunchFailed, "deadlock", "diverged_barrier", {1, 64}, y.address);
  expectFinding(code::LaunchTimeout, "an mbarrier for ever", "spin_for_ever", {1, 32}, y.address);
}

TEST_F(FindingsTest, GlobalMemoryOutOfBounds) {
  Buffer<float> x(std::vector<float>(64, 1)), y(64);
  expectFinding(code::IllegalAddress, "outside of every allocation", "write_outside", {1, 64}, y.address, 1);
  expectFinding(code::IllegalAddress, "outside of every allocation", "read_outside", {1, 64}, x.address, y.address, 64);
  expectFinding(code::IllegalAddress, "outside of every allocation", "read_outside", {1, 64}, x.address, y.address, -1);
  expectNone("read_outside", {1, 64}, x.address, y.address, 63);
}

TEST_F(FindingsTest, SharedMemoryOutOfBounds) {
  Buffer<float> y(64);
  expectFinding(code::IllegalAddress, "bytes of shared memory", "shared_outside", {1, 64, 256}, y.address, 2);
  expectNone("shared_outside", {1, 64, 256}, y.address, 1);
}

TEST_F(FindingsTest, Misaligned) {
  Buffer<float> x(std::vector<float>(8, 1)), y(4);
  expectFinding(code::MisalignedAddress, "no multiple of 16", "misaligned", {1, 1}, x.address, y.address);
}

TEST_F(FindingsTest, AssertionsAndTraps) {
  Buffer<int> seven(std::vector<int>{7}), eight(std::vector<int>{8});
  expectNone("failing_assert", {1, 1}, seven.address);
  expectFinding(code::Assert, "x[0] == 7", "failing_assert", {1, 1}, eight.address);
  expectFinding(code::IllegalInstruction, "trap", "trap", {1, 1});
}

TEST_F(FindingsTest, BlocksThatTouchTheSameBytes) {
  Buffer<float> y(std::vector<float>(128, 0));
  expectFinding(code::LaunchFailed, "another block of the same launch", "blocks_collide", {2, 32}, y.address);
  expectFinding(code::LaunchFailed, "another block of the same launch", "blocks_read", {2, 32}, y.address);
  expectNone("blocks_collide", {1, 32}, y.address);
}

TEST_F(FindingsTest, UninitializedMemory) {
  Buffer<float> x(64), y(64);
  expectFinding(code::LaunchFailed, "which nothing wrote", "add_one", {1, 64}, x.address, y.address, 64);
  x.set(std::vector<float>(63, 1));
  expectFinding(code::LaunchFailed, "which nothing wrote", "add_one", {1, 64}, x.address, y.address, 64);
  expectNone("add_one", {1, 64}, x.address, y.address, 63);
}

// A copy of uninitialized bytes is as uninitialized as its source.
TEST_F(FindingsTest, UninitializedMemoryThroughCopies) {
  Buffer<float> x(64), copy(64), y(64);
  ASSERT_EQ(d.call("cuMemsetD32_v2", copy.address, 0u, size_t(64)), code::Success);
  expectNone("add_one", {1, 64}, copy.address, y.address, 64);
  ASSERT_EQ(d.call("cuMemcpyDtoD_v2", copy.address, x.address, size_t(256)), code::Success);
  expectFinding(code::LaunchFailed, "which nothing wrote", "add_one", {1, 64}, copy.address, y.address, 64);
  std::vector<float> host(64);
  EXPECT_EQ(d.call("cuMemcpyDtoH_v2", static_cast<void *>(host.data()), x.address, size_t(256)), code::LaunchFailed);
  clearFindings();
}

// cp.async: a thread may read its bytes after the wait, and the bytes of other threads after a barrier.
TEST_F(FindingsTest, AsyncCopies) {
  std::vector<float> values(128);
  for (size_t i = 0; i < 128; i++)
    values[i] = float(i);
  Buffer<float> x(values), y(128);
  expectNone("missing_copy_wait", {1, 32}, x.address, y.address, 1);
  EXPECT_EQ(y.get(), values);
  for (uint64_t seed = 1; seed <= 5; seed++) { // no wait: NaN, whatever the order
    setSeed(seed);
    ASSERT_EQ(launch(module->function("missing_copy_wait"), {1, 32}, nullptr, x.address, y.address, 0), code::Success);
    ASSERT_EQ(synchronize(), code::Success) << firstFinding();
    for (float v : y.get())
      EXPECT_NE(v, v);
  }
  expectNone("missing_copy_barrier", {1, 32}, x.address, y.address, 1);
  expectFinding(code::LaunchFailed, "with no barrier between", "missing_copy_barrier", {1, 32}, x.address, y.address,
                0);
}

TEST_F(FindingsTest, ArgumentsThatAreNotGiven) {
  Buffer<float> x(std::vector<float>(4, 1));
  EXPECT_EQ(launch(module->function("add_one"), {1, 1}, nullptr, x.address), code::InvalidValue);
  EXPECT_NE(firstFinding().find("takes 3 arguments"), std::string::npos) << firstFinding();
  EXPECT_EQ(d.call("cuLaunchKernel", module->function("add_one"), 1u, 1u, 1u, 1u, 1u, 1u, 0u, Handle(nullptr),
                   static_cast<void **>(nullptr), static_cast<void **>(nullptr)),
            code::InvalidValue);
}

// After a fault the context is lost, and every later call returns the error.
TEST_F(FindingsTest, FaultsAreSticky) {
  ASSERT_EQ(launch(module->function("trap"), {1, 1}, nullptr), code::Success);
  EXPECT_EQ(synchronize(), code::IllegalInstruction);
  uint64_t memory;
  EXPECT_EQ(d.call("cuMemAlloc_v2", &memory, size_t(16)), code::IllegalInstruction);
  Handle f;
  EXPECT_EQ(d.call("cuModuleGetFunction", &f, module->handle, "trap"), code::IllegalInstruction);
}

// If the host accesses device memory, it crashes, as with a GPU.
TEST_F(FindingsTest, HostAccessToDeviceMemory) {
  Buffer<float> x(std::vector<float>(4, 1));
  EXPECT_DEATH(*reinterpret_cast<volatile float *>(x.address) = 1, "");
}

TEST_F(FindingsTest, Leaks) {
  auto *report = reinterpret_cast<void (*)()>(dlsym(d.library, "cleave_emulated_report_leaks"));
  module.reset();
  report();
  EXPECT_EQ(firstFinding(), "");
  uint64_t memory = 0;
  ASSERT_EQ(d.call("cuMemAlloc_v2", &memory, size_t(100)), code::Success);
  report();
  EXPECT_NE(firstFinding().find("100 bytes of device memory were not freed"), std::string::npos) << firstFinding();
  clearFindings();
  ASSERT_EQ(d.call("cuMemFree_v2", memory), code::Success);
  Handle stream;
  ASSERT_EQ(d.call("cuStreamCreate", &stream, 1u), code::Success);
  report();
  EXPECT_NE(firstFinding().find("a stream was not destroyed"), std::string::npos) << firstFinding();
  ASSERT_EQ(d.call("cuStreamDestroy_v2", stream), code::Success);
}

// Leaks are also reported at the end of a process. The child is a new process, because options are read when the
// library is first used.
TEST(LeaksAtExit, EndTheProcess) {
  if (!Driver::get().isEmulated)
    GTEST_SKIP();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto leave = [](bool leak) {
    setenv("CLEAVE_EMULATED_LEAKS", "fail", 1);
    const Driver &d = Driver::get();
    d.call("cuInit", 0u);
    Handle context;
    d.call("cuDevicePrimaryCtxRetain", &context, 0);
    d.call("cuCtxSetCurrent", context);
    uint64_t memory = 0;
    d.call("cuMemAlloc_v2", &memory, size_t(123));
    if (!leak)
      d.call("cuMemFree_v2", memory);
    exit(0);
  };
  EXPECT_EXIT(leave(true), ::testing::ExitedWithCode(99), "leak at exit: 123 bytes of device memory");
  EXPECT_EXIT(leave(false), ::testing::ExitedWithCode(0), "");
}

// The emulator refuses an instruction that it does not know, and names its line. It never skips one.
TEST_F(FindingsTest, UnknownInstructions) {
  const char *head = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n.reg .f32 %f<3>;\n";
  for (const char *body : {"frobnicate.f32 %f1, %f2;", "add.rn.shiny.f32 %f1, %f2, %f2;", "add.f32 %f1, %f2, %nothing;",
                           "add.f32 %f1;", "ld.global.v4.f32 {%f1, %f2}, [%rd1];", "bra ;", "mov.b32 {}, %f1;",
                           "ld.global %f1, [%rd1];", "setp.lo.f32 %p1, %f1, %f2;", "shl %f1, %f1, 2;"}) {
    char log[500] = "";
    int options[] = {5, 6};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    std::string text = std::string(head) + body + "\nret;\n}\n";
    Handle handle = nullptr;
    EXPECT_EQ(d.call("cuModuleLoadDataEx", &handle, static_cast<const void *>(text.c_str()), 2u,
                     static_cast<int *>(options), static_cast<void **>(values)),
              code::InvalidPtx);
    EXPECT_NE(std::string(log).find("line 6"), std::string::npos) << log;
  }
}

} // namespace
} // namespace cleave::emulated::test

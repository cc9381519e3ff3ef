// A program may embed the runtime and use CUDA itself. It finds its own context as the current one after each call of a
// rank, and after the rank's end. That may be a context of another GPU, one of the rank's GPU, or none.
#include "runtime/comm/LocalWorld.h"
#include "runtime/device/Rank.h"
#include "runtime/device/cuda/Driver.h"
#include "test/runtime/device/PlanBuilder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace cleave::rt;
using cleave::rt::test::PlanBuilder;

namespace {

constexpr int64_t kOne = 0x3f800000; // 1.0f

class CurrentContext : public ::testing::TestWithParam<int> { // the GPU whose context is current; -1: none
protected:
  static void SetUpTestSuite() {
    ::setenv("CLEAVE_LIBCUDA", CLEAVE_EMULATED_LIBRARY, 1);
    ::setenv("CLEAVE_EMULATED_DEVICES", "2", 1);
    ::setenv("CLEAVE_CUDA_DEVICE", "0", 1);
    ASSERT_TRUE(cuda::openDriver(&driver).isOk());
    ASSERT_EQ(driver->init(0), 0);
  }

  void SetUp() override {
    if (GetParam() >= 0) {
      ASSERT_EQ(driver->deviceGet(&device, GetParam()), 0);
      ASSERT_EQ(driver->contextRetain(&context, device), 0);
    }
    ASSERT_EQ(driver->contextSetCurrent(context), 0);
  }
  void TearDown() override {
    if (context)
      EXPECT_EQ(driver->contextRelease(device), 0);
  }

  void expectOwn(const char *after) const {
    cuda::Handle current = nullptr;
    EXPECT_EQ(driver->contextCurrent(&current), 0);
    EXPECT_EQ(current, context) << "after " << after;
  }

  static inline const cuda::Driver *driver = nullptr;
  cuda::Handle context = nullptr;
  int device = 0;
};

TEST_P(CurrentContext, IsTheCallersAfterEachCall) {
  PlanBuilder b;
  b.plan.target = "cuda:sm_80";
  unsigned data = b.region("data", fb::RegionKind::persistent, 128);
  b.state("x", fb::DType::f32, 16, data);
  b.state("y", fb::DType::f32, 16, data, 64);
  auto &program = b.program("train_step");
  b.add(program, Opcode::Copy, 0, {b.buffer(data, 64, 64, fb::Access::write), b.buffer(data, 0, 64, fb::Access::read)},
        {});
  b.add(program, Opcode::Fill, 0, {b.buffer(data, 0, 64, fb::Access::write)}, {kOne, 4});
  const fb::Plan &plan = b.open();
  LocalWorld world(1);
  {
    Rank rank;
    Status made = Rank::create(plan, nullptr, RankOptions(), world.communicator(0), &rank);
    ASSERT_TRUE(made.isOk()) << made.message();
    expectOwn("create()");
    Bytes x = rank.stateBytes(*findState(plan, "x")), y = rank.stateBytes(*findState(plan, "y"));
    float seven[16];
    std::fill_n(seven, 16, 7.0f);
    std::memcpy(x.data, seven, sizeof seven);
    EXPECT_TRUE(rank.push(x).isOk());
    expectOwn("push()");
    for (float expected : {7.0f, 1.0f, 1.0f}) { // runs it directly, then captures a graph, then launches the graph
      Status run = rank.run(*findProgram(plan, "train_step"));
      ASSERT_TRUE(run.isOk()) << run.message();
      expectOwn("run()");
      EXPECT_TRUE(rank.pull(y).isOk());
      expectOwn("pull()");
      EXPECT_EQ(reinterpret_cast<const float *>(y.data)[15], expected);
    }
  }
  expectOwn("the rank's end");
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, CurrentContext, ::testing::Values(1, 0, -1));

// This test has its own table of functions, because the emulated driver never fails to return the current context.
int contextsSet = 0;
TEST(ContextScope, RestoresNothingThatItCouldNotRead) {
  cuda::Driver driver;
  driver.contextCurrent = [](cuda::Handle *) { return 3; };
  driver.contextSetCurrent = [](cuda::Handle) {
    ++contextsSet;
    return 0;
  };
  { EXPECT_FALSE(cuda::ContextScope(driver, &driver).status().isOk()); }
  EXPECT_EQ(contextsSet, 0);
  driver.contextCurrent = [](cuda::Handle *) { return 0; };
  { EXPECT_TRUE(cuda::ContextScope(driver, &driver).status().isOk()); }
  EXPECT_EQ(contextsSet, 2);
}

} // namespace

// Runs plans with frames, shared events, sends and receives on local ranks, and compares their results. Each stream has
// one thread, or all streams but the first share one.
#include "runtime/device/Rank.h"

#include "runtime/comm/Group.h"
#include "runtime/comm/LocalWorld.h"
#include "runtime/plan/Frames.h"
#include "test/runtime/device/PipelinePlan.h"

#include <array>
#include <chrono>
#include <cstring>
#include <thread>

using namespace cleave::rt;
using cleave::rt::test::makePipeline;
using cleave::rt::test::PipelineStage;
using cleave::rt::test::PlanBuilder;

namespace {

constexpr size_t kElements = PipelineStage::kElements;
using Vector = std::array<float, kElements>;

float *floats(void *buffer) { return static_cast<float *>(buffer); }

void multiply(void *const *b, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    floats(b[2])[i] = floats(b[0])[i] * floats(b[1])[i];
}
void multiplyAdd(void *const *b, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    floats(b[3])[i] = floats(b[2])[i] + floats(b[0])[i] * floats(b[1])[i];
}
void subtract(void *const *b, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    floats(b[2])[i] = floats(b[1])[i] - floats(b[0])[i];
}

// Small integers, whose sums are exact in any order.
Vector inputOf(unsigned dp, unsigned microBatch) {
  Vector x;
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>((i + 3 * dp + 5 * microBatch) % 4) - 1;
  return x;
}

struct Weights {
  Vector w0, w1, y;
};

// The weights after one step on one rank.
Weights expected(Weights w, unsigned dp, unsigned microBatches, unsigned mine) {
  Vector dw0{}, dw1{};
  for (unsigned d = 0; d < dp; ++d)
    for (unsigned m = 0; m < microBatches; ++m) {
      Vector x = inputOf(d, m);
      for (size_t i = 0; i < kElements; ++i) {
        float y0 = x[i] * w.w0[i], y1 = y0 * w.w1[i];
        dw1[i] += y0 * y1;
        dw0[i] += x[i] * (y1 * w.w1[i]);
        if (d == mine && m + 1 == microBatches)
          w.y[i] = y1;
      }
    }
  for (size_t i = 0; i < kElements; ++i) {
    w.w0[i] -= dw0[i];
    w.w1[i] -= dw1[i];
  }
  return w;
}

Status runRank(const fb::Plan &plan, LocalWorld &world, int index, unsigned dp, unsigned microBatches) {
  static cleave_kernel_fn kernels[] = {multiply, multiplyAdd, subtract, multiply, multiplyAdd, multiply, subtract};
  Rank rank;
  RankOptions options;
  options.rank = index;
  CLEAVE_TRY(Rank::create(plan, kernels, options, world.communicator(index), &rank));
  unsigned stage = rank.coordinate(0), mine = rank.coordinate(1);
  Weights weights{};
  weights.w0.fill(1);
  weights.w1.fill(2);
  std::string name = "w" + std::to_string(stage);
  Bytes own = rank.stateBytes(*findState(plan, name));
  std::memcpy(own.data, stage == 0 ? weights.w0.data() : weights.w1.data(), own.size);
  const fb::Program &step = *findProgram(plan, "train_step");
  for (unsigned m = 0; m < microBatches; ++m) {
    Vector x = inputOf(mine, m);
    Bytes port = rank.portBytes(*step.inputs()->Get(0), m);
    EXPECT_EQ(port.data != nullptr, stage == 0);
    if (port.data)
      std::memcpy(port.data, x.data(), sizeof x);
  }
  Weights expectedNow = weights;
  for (int repeat = 0; repeat < 30; ++repeat) {
    std::memcpy(own.data, stage == 0 ? weights.w0.data() : weights.w1.data(), own.size);
    CLEAVE_TRY(rank.run(step));
    expectedNow = expected(weights, dp, microBatches, mine);
    EXPECT_EQ(std::memcmp(own.data, stage == 0 ? expectedNow.w0.data() : expectedNow.w1.data(), own.size), 0)
        << "rank " << index << ", step " << repeat;
    if (stage == 1) {
      EXPECT_EQ(std::memcmp(rank.portBytes(*step.outputs()->Get(0), 0).data, expectedNow.y.data(), own.size), 0);
    }
  }
  // One value for each micro-batch, and the ring of the gradient.
  uint64_t sent = 30 * (microBatches * PipelineStage::kBytes + (dp - 1) * 2 * PipelineStage::kBytes / dp);
  EXPECT_EQ(rank.counters().bytesSent, sent);
  return Status::ok();
}

void expectRight(const fb::Plan &plan, unsigned dp, unsigned microBatches) {
  LocalWorld world(static_cast<int>(2 * dp));
  std::vector<Status> results(2 * dp);
  std::vector<std::thread> threads;
  for (unsigned r = 0; r < 2 * dp; ++r)
    threads.emplace_back([&, r] { results[r] = runRank(plan, world, static_cast<int>(r), dp, microBatches); });
  for (std::thread &thread : threads)
    thread.join();
  for (const Status &result : results)
    EXPECT_TRUE(result.isOk()) << result.message();
}

TEST(PipelineRank, ComputesWhatOneRankWould) {
  for (unsigned dp : {1u, 2u})
    for (unsigned microBatches : {3u, 4u, 9u}) {
      PlanBuilder builder = makePipeline(dp, microBatches);
      expectRight(builder.open(), dp, microBatches);
    }
}

// If there are more streams than a rank may have threads, the last streams share the last thread.
TEST(PipelineRank, RunsOnFewerThreadsThanStreams) {
  PlanBuilder builder = makePipeline(1, 5);
  for (fb::PlanT *kind : {&builder.plan, builder.plan.kinds[0].get()}) {
    kind->streams = {"compute", "a", "b", "c", "d", "e", "f", "g", "reduce", "send", "recv"};
    for (auto &program : kind->programs)
      for (auto &instruction : program->instructions)
        instruction->stream = static_cast<uint8_t>(instruction->stream == 0 ? 0 : instruction->stream + 7);
  }
  expectRight(builder.open(), 1, 5);
}

// The first and the last of three stages share a tensor. Its gradient is the sum over these two stages.
TEST(PipelineRank, GroupsSpanSomeStages) {
  std::unique_ptr<fb::PlanT> all;
  for (unsigned stage = 0; stage < 3; ++stage) {
    PlanBuilder b({{"pp", 3}});
    unsigned data = b.region("data", fb::RegionKind::persistent, 64);
    unsigned staging = b.region("staging", fb::RegionKind::communication, 64);
    b.plan.kind = "stage" + std::to_string(stage);
    b.plan.where.push_back(std::make_unique<fb::AxisRangeT>());
    b.plan.where[0]->begin = stage;
    b.plan.where[0]->end = stage + 1;
    fb::ProgramT &step = b.program("train_step");
    if (stage != 1) {
      b.state("tied", fb::DType::f32, kElements, data);
      int64_t group = b.group({0});
      b.plan.groups[0]->only.push_back(std::make_unique<fb::AxisPlacesT>());
      b.plan.groups[0]->only[0]->coordinates = {0, 2};
      b.add(step, Opcode::AllReduce, 1, {b.buffer(data, 0, 64), b.buffer(staging, 0, 32, fb::Access::write)},
            {group, int64_t(fb::DType::f32), 0, 0, kElements});
    }
    b.pack();
    if (all)
      all->kinds.push_back(std::make_unique<fb::PlanT>(b.plan));
    else
      all = std::make_unique<fb::PlanT>(b.plan);
  }
  PlanBuilder builder;
  builder.plan = *all;
  const fb::Plan &plan = builder.open();
  LocalWorld world(3);
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r)
    threads.emplace_back([&, r] {
      Rank rank;
      RankOptions options;
      options.rank = r;
      ASSERT_TRUE(Rank::create(plan, nullptr, options, world.communicator(r), &rank).isOk());
      Bytes tied = rank.stateBytes(*findState(plan, "tied"));
      EXPECT_EQ(tied.data == nullptr, r == 1);
      if (tied.data)
        floats(tied.data)[3] = static_cast<float>(r + 1);
      EXPECT_TRUE(rank.run(*findProgram(plan, "train_step")).isOk());
      if (tied.data) {
        EXPECT_EQ(floats(tied.data)[3], 4);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(PipelineRank, GroupsAreInTheOrderOfTheirCoordinates) {
  Group group = meshGroup({4, 2}, {1, 0}, 7, {{}, {1, 3}}); // of 4 x 2 ranks those at 1 and 3, the second axis slowest
  EXPECT_EQ(group.members, (std::vector<int>{2, 6, 3, 7}));
  EXPECT_EQ(group.index, 3);
}

void pause10ms(void *const *, int64_t, int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

// A body works on two streams for 10 ms each, one after the other. It is called eight times. With an event for each
// frame, the two streams work at the same time, on successive calls.
TEST(PipelineRank, StreamsRunOnThroughCalls) {
  PlanBuilder b;
  int64_t pause = b.generated("pause10ms", {});
  b.plan.events.emplace_back(2, fb::Counter::micro_batch);
  fb::ProgramT &step = b.program("train_step");
  fb::ProgramT &body = b.program("body", 0, false);
  b.add(body, Opcode::Launch, 0, {}, {pause});
  b.add(body, Opcode::Record, 0, {}, {0, 0});
  b.add(body, Opcode::Wait, 1, {}, {0, 0});
  b.add(body, Opcode::Launch, 1, {}, {pause});
  b.add(step, Opcode::Call, 0, {}, {1, 8, 0, 0});
  const fb::Plan &plan = b.open();
  cleave_kernel_fn kernels[] = {pause10ms};
  LocalWorld world(1);
  Rank rank;
  ASSERT_TRUE(Rank::create(plan, kernels, {}, world.communicator(0), &rank).isOk());
  auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(rank.run(*findProgram(plan, "train_step")).isOk());
  std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(taken.count(), 89); // nine times 10 ms: the second half of the last call has no other work at the same time
  EXPECT_LT(taken.count(), 150); // sixteen times 10 ms if calls were barriers
}

TEST(Frames, ArePlacedModuloTheirNumber) {
  Frames frames = Frames().called(fb::Counter::micro_batch, 5).called(fb::Counter::block, 3);
  EXPECT_EQ(frames.of(fb::Counter::micro_batch), 5);
  EXPECT_EQ(frames.of(fb::Counter::time), 0);
  EXPECT_EQ(frames.place(fb::Counter::micro_batch, -2, 2), 1u);
  EXPECT_EQ(frames.place(fb::Counter::time, -1, 4), 3u);
  EXPECT_EQ(frames.place(fb::Counter::block, 1, 4), 0u);
  EXPECT_EQ(frames.place(fb::Counter::block, -7, 1), 0u);
}

} // namespace

// Executes plans made by hand on one and two local ranks.
#include "runtime/device/Rank.h"

#include "runtime/base/Trace.h"
#include "runtime/comm/LocalWorld.h"
#include "test/runtime/device/PlanBuilder.h"

#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

using namespace cleave::rt;
using cleave::rt::test::PlanBuilder;

namespace {

constexpr int64_t kOne = 0x3f800000; // 1.0f

// data[i] += 1 for 1024 floats
void increment(void *const *buffers, int64_t begin, int64_t end) {
  auto *data = static_cast<float *>(buffers[0]);
  for (int64_t i = begin; i < end; ++i)
    data[i] += 1;
}

// target[i] = source[i] * 2
void twice(void *const *buffers, int64_t begin, int64_t end) {
  auto *target = static_cast<float *>(buffers[0]);
  auto *source = static_cast<const float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    target[i] = 2 * source[i];
}

void pause20ms(void *const *, int64_t, int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

const float *floats(Bytes bytes) { return reinterpret_cast<const float *>(bytes.data); }

// Creates the rank and runs the body with it. Returns the first error of the two.
template <typename Body>
Status withRank(const fb::Plan &plan, const cleave_kernel_fn *kernels, Communicator &comm, int threads, Body body,
                TraceSink *trace = nullptr) {
  Rank rank;
  RankOptions options;
  options.rank = comm.rank();
  options.threads = threads;
  options.trace = trace;
  CLEAVE_TRY(Rank::create(plan, kernels, options, comm, &rank));
  return body(rank);
}

template <typename Body>
std::vector<Status> onRanks(const fb::Plan &plan, const cleave_kernel_fn *kernels, LocalWorld &world, Body body,
                            TraceSink *trace = nullptr) {
  std::vector<Status> results(static_cast<size_t>(world.size()));
  std::vector<std::thread> threads;
  for (int r = 0; r < world.size(); ++r)
    threads.emplace_back(
        [&, r] { results[static_cast<size_t>(r)] = withRank(plan, kernels, world.communicator(r), 1, body, trace); });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

TEST(Rank, LaunchesCopiesAndFills) {
  PlanBuilder b;
  unsigned data = b.region("data", fb::RegionKind::persistent, 8192);
  b.state("x", fb::DType::f32, 1000, data, 64);
  b.state("y", fb::DType::f32, 1000, data, 4096);
  auto k = b.generated("increment", {b.buffer(data, 64, 4000)}, 1000);
  auto &program = b.program("train_step");
  b.add(program, Opcode::Fill, 0, {b.buffer(data, 64, 4000)}, {kOne, 4});
  b.add(program, Opcode::Launch, 0, {b.buffer(data, 64, 4000)}, {k});
  b.add(program, Opcode::Copy, 0, {b.buffer(data, 4096, 4000), b.buffer(data, 64, 4000)}, {});
  b.add(program, Opcode::Launch, 0, {b.buffer(data, 4096, 4000)}, {k});
  const fb::Plan &plan = b.open();
  cleave_kernel_fn kernels[] = {increment};
  for (int threads : {1, 3}) {
    LocalWorld world(1);
    Status status = withRank(plan, kernels, world.communicator(0), threads, [&](Rank &rank) {
      EXPECT_EQ(rank.counters().plannedBytes, 8192u);
      for (int i = 0; i < 3; ++i)
        CLEAVE_TRY(rank.run(*findProgram(plan, "train_step")));
      for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(floats(rank.stateBytes(*findState(plan, "x")))[i], 2);
        EXPECT_EQ(floats(rank.stateBytes(*findState(plan, "y")))[i], 3);
      }
      EXPECT_EQ(floats(rank.stateBytes(*findState(plan, "x")))[-1], 0);
      return Status::ok();
    });
    EXPECT_TRUE(status.isOk()) << status.message();
  }
}

TEST(Rank, CallsRunInTheirFrames) {
  PlanBuilder b;
  unsigned in = b.region("input", fb::RegionKind::input, 64, 3), out = b.region("out", fb::RegionKind::residual, 64, 4);
  auto read = fb::Access::read, write = fb::Access::write;
  std::vector<fb::Buffer> apart = {b.buffer(out, 0, 64, write), b.buffer(in, 0, 64, read)};
  std::vector<fb::Buffer> inPlace = {b.buffer(out, 0, 64, write), b.buffer(out, 0, 64, read)};
  auto k = b.generated("twice", apart, 16), again = b.generated("again", inPlace, 16, {{0, 1}});
  auto &step = b.program("train_step");
  b.add(step, Opcode::Call, 0, {}, {1, 3, 1});
  step.inputs.push_back(std::make_unique<fb::PortT>());
  step.inputs[0]->name = "x";
  step.inputs[0]->shape = {16};
  auto &micro = b.program("micro", 1, false);
  b.add(micro, Opcode::Launch, 1, apart, {k}); // on the progress thread
  b.add(micro, Opcode::Record, 1, {}, {0});
  b.add(micro, Opcode::Wait, 0, {}, {0});
  b.add(micro, Opcode::Launch, 0, inPlace, {again});
  const fb::Plan &plan = b.open();
  cleave_kernel_fn kernels[] = {twice, twice};
  LocalWorld world(1);
  Status status = withRank(plan, kernels, world.communicator(0), 1, [&](Rank &rank) {
    const fb::Program &program = *findProgram(plan, "train_step");
    const fb::Port &port = *program.inputs()->Get(0);
    for (unsigned f = 0; f < 3; ++f)
      reinterpret_cast<float *>(rank.portBytes(port, f).data)[5] = static_cast<float>(f + 1);
    for (int repeat = 0; repeat < 200; ++repeat)
      CLEAVE_TRY(rank.run(program));
    const float *result = floats(rank.regionBytes(out));
    EXPECT_EQ(result[0 * 16 + 5], 0); // frame 0 is not run
    EXPECT_EQ(result[1 * 16 + 5], 8); // 4 * input frame 1
    EXPECT_EQ(result[2 * 16 + 5], 12);
    EXPECT_EQ(result[3 * 16 + 5], 4); // input frame 3 mod 3 = 0
    return Status::ok();
  });
  EXPECT_TRUE(status.isOk()) << status.message();
}

// The gradient is set to 1 on the compute stream, summed on the reduce stream, and doubled on the compute stream.
PlanBuilder makeReducePlan(bool overlap) {
  PlanBuilder b({{"dp", 2}});
  unsigned data = b.region("data", fb::RegionKind::persistent, 8192);
  unsigned staging = b.region("staging", fb::RegionKind::communication, 2048);
  b.state("g", fb::DType::f32, 1024, data);
  b.state("shard", fb::DType::f32, 1024, data).split_axes = {0};
  auto dp = b.group({0});
  auto slow = b.generated("pause20ms", {});
  auto more = b.generated("increment", {b.buffer(data, 0, 4096)}, 1024);
  auto &step = b.program("train_step", 2);
  b.add(step, Opcode::Fill, 0, {b.buffer(data, 0, 4096)}, {kOne, 4});
  b.add(step, Opcode::Record, 0, {}, {0});
  b.add(step, Opcode::Wait, 1, {}, {0});
  b.add(step, Opcode::AllReduce, 1, {b.buffer(data, 0, 4096), b.buffer(staging, 0, 2048)},
        {dp, int64_t(fb::DType::f32), 0, 0, 1024}, "bucket.0");
  b.add(step, Opcode::Record, 1, {}, {1});
  if (overlap)
    b.add(step, Opcode::Launch, 0, {}, {slow});
  b.add(step, Opcode::Wait, 0, {}, {1});
  if (!overlap)
    b.add(step, Opcode::Launch, 0, {}, {slow});
  b.add(step, Opcode::Launch, 0, {b.buffer(data, 0, 4096)}, {more});
  return b;
}

TEST(Rank, ReducesOverRanks) {
  PlanBuilder b = makeReducePlan(true);
  const fb::Plan &plan = b.open();
  cleave_kernel_fn kernels[] = {pause20ms, increment};
  LocalWorld world(2);
  auto results = onRanks(plan, kernels, world, [&](Rank &rank) {
    for (int i = 0; i < 3; ++i)
      CLEAVE_TRY(rank.run(*findProgram(plan, "train_step")));
    for (int i = 0; i < 1024; ++i)
      EXPECT_EQ(floats(rank.stateBytes(*findState(plan, "g")))[i], 3);
    EXPECT_EQ(rank.counters().bytesSent, 3u * 4096); // 2*(2-1)/2 * 4096 a step
    Rank::Range range = rank.stateRange(*findState(plan, "shard"));
    EXPECT_EQ(range.first, rank.coordinate(0) * 512u);
    EXPECT_EQ(range.count, 512u);
    return Status::ok();
  });
  for (const Status &status : results)
    EXPECT_TRUE(status.isOk()) << status.message();
}

// Returns in how many of five steps the kernel and the reduction ran at the same time on the first rank. A reduction
// takes 20 ms.
int stepsThatOverlap(bool overlap) {
  PlanBuilder b = makeReducePlan(overlap);
  const fb::Plan &plan = b.open();
  cleave_kernel_fn kernels[] = {pause20ms, increment};
  ::setenv("CLEAVE_COMM_DELAY_US", "10000", 1); // two exchanges
  LocalWorld world(2);
  ::unsetenv("CLEAVE_COMM_DELAY_US");
  ChromeTrace trace;
  auto fiveSteps = [&](Rank &rank) {
    for (int i = 0; i < 5; ++i)
      CLEAVE_TRY(rank.run(*findProgram(plan, "train_step")));
    return Status::ok();
  };
  for (const Status &status : onRanks(plan, kernels, world, fiveSteps, &trace))
    EXPECT_TRUE(status.isOk()) << status.message();
  std::map<std::string, std::vector<std::pair<double, double>>> spans;
  auto json = nlohmann::json::parse(trace.json());
  for (const auto &event : json["traceEvents"])
    if (event["ph"] == "X" && event["pid"] == 0)
      spans[event["name"]].emplace_back(event["ts"], double(event["ts"]) + double(event["dur"]));
  EXPECT_EQ(spans["bucket.0"].size(), 5u);
  EXPECT_EQ(spans["pause20ms"].size(), 5u);
  int both = 0;
  for (const auto &[begin, end] : spans["bucket.0"])
    for (const auto &[otherBegin, otherEnd] : spans["pause20ms"])
      both += begin < otherEnd && otherBegin < end;
  return both;
}

TEST(Rank, OverlapsCommunicationWithCompute) {
  EXPECT_EQ(stepsThatOverlap(false), 0);
  EXPECT_GT(stepsThatOverlap(true), 0);
}

TEST(Rank, BadIndexStopsEveryRank) {
  PlanBuilder b({{"dp", 2}});
  unsigned data = b.region("data", fb::RegionKind::persistent, 4096);
  auto &index = b.state("index", fb::DType::i64, 2, data, 512);
  index.split_axes = {};
  KernelParams params(*findKernelDef("take"));
  params.set("dtype", 0).set("index_dtype", int64_t(fb::DType::i64)).set("outer", 1).set("rows", 4).set("inner", 2);
  params.set("indices", 2);
  std::vector<int64_t> list;
  ASSERT_TRUE(params.finish(&list).isOk());
  auto take = b.kernel(fb::KernelKind::builtin, "take", list);
  auto dp = b.group({0});
  auto &step = b.program("train_step", 1);
  b.add(step, Opcode::Launch, 0, {b.buffer(data, 0, 32), b.buffer(data, 512, 16), b.buffer(data, 1024, 16)}, {take},
        "embedding/Gather");
  b.add(step, Opcode::Record, 0, {}, {0});
  b.add(step, Opcode::Wait, 1, {}, {0});
  b.add(step, Opcode::AllReduce, 1, {b.buffer(data, 1024, 16), b.buffer(data, 2048, 8)}, {dp, 0, 0, 0, 4});
  const fb::Plan &plan = b.open();
  LocalWorld world(2);
  auto results = onRanks(plan, nullptr, world, [&](Rank &rank) {
    if (rank.coordinate(0) == 1)
      reinterpret_cast<int64_t *>(rank.stateBytes(*findState(plan, "index")).data)[1] = 9;
    Status first = rank.run(*findProgram(plan, "train_step"));
    EXPECT_FALSE(rank.run(*findProgram(plan, "train_step")).isOk()); // the rank stays failed
    return first;
  });
  for (const char *part :
       {"embedding/Gather", "index 9 at position 1", "expected -4 to 3 (in rank 1's part of the batch)"})
    EXPECT_NE(results[1].message().find(part), std::string::npos) << results[1].message();
  EXPECT_EQ(results[0].code(), Code::PeerLost);
  EXPECT_NE(results[0].message().find("rank 1 failed"), std::string::npos) << results[0].message();
}

TEST(Rank, NamesTheMicroBatchOfABadIndex) {
  PlanBuilder b;
  b.plan.micro_batches = 3;
  unsigned data = b.region("data", fb::RegionKind::persistent, 64);
  unsigned input = b.region("input", fb::RegionKind::input, 8, 3);
  KernelParams params(*findKernelDef("check_index"));
  params.set("dtype", int64_t(fb::DType::i64)).set("count", 1).set("first", 0).set("end", 4).set("other", 0);
  std::vector<int64_t> list;
  ASSERT_TRUE(params.finish(&list).isOk());
  auto check = b.kernel(fb::KernelKind::builtin, "check_index", list);
  auto &forward = b.program("forward", 0, /*entry=*/false);
  b.add(forward, Opcode::Launch, 0, {b.buffer(input, 0, 8, fb::Access::read), b.buffer(data, 0, 8)}, {check});
  auto &step = b.program("train_step");
  step.inputs.push_back(std::make_unique<fb::PortT>());
  step.inputs[0]->name = "index";
  step.inputs[0]->dtype = fb::DType::i64;
  step.inputs[0]->shape = {1};
  step.inputs[0]->region = static_cast<uint16_t>(input);
  b.add(step, Opcode::Call, 0, {}, {0, 3, 0, int64_t(fb::Counter::micro_batch)});
  // Outside of the loop there is no micro-batch.
  b.add(b.program("evaluate"), Opcode::Launch, 0, {b.buffer(data, 16, 8, fb::Access::read), b.buffer(data, 0, 8)},
        {check});
  b.state("outside", fb::DType::i64, 1, data, 16);
  const fb::Plan &plan = b.open();
  LocalWorld world(1), other(1);
  Status outside = withRank(plan, nullptr, other.communicator(0), 1, [&](Rank &rank) {
    *reinterpret_cast<int64_t *>(rank.stateBytes(*findState(plan, "outside")).data) = 9;
    return rank.run(*findProgram(plan, "evaluate"));
  });
  EXPECT_NE(outside.message().find("index 9 at position 0"), std::string::npos) << outside.message();
  EXPECT_EQ(outside.message().find("micro-batch"), std::string::npos) << outside.message();
  Status status = withRank(plan, nullptr, world.communicator(0), 1, [&](Rank &rank) {
    const fb::Program &program = *findProgram(plan, "train_step");
    for (unsigned frame = 0; frame < 3; ++frame)
      *reinterpret_cast<int64_t *>(rank.portBytes(*program.inputs()->Get(0), frame).data) = frame == 1 ? 7 : 1;
    return rank.run(program);
  });
  EXPECT_NE(status.message().find("index 7 at position 0"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("(in micro-batch 2 of 3)"), std::string::npos) << status.message();
}

TEST(Rank, RefusesWhatDoesNotFit) {
  PlanBuilder b({{"dp", 2}});
  unsigned data = b.region("data", fb::RegionKind::persistent, 4096);
  auto k = b.generated("increment", {b.buffer(data, 0, 4)});
  b.add(b.program("train_step"), Opcode::Launch, 0, {b.buffer(data, 0, 4)}, {k});
  const fb::Plan &plan = b.open();
  LocalWorld one(1), two(2);
  auto nothing = [](Rank &) { return Status::ok(); };
  EXPECT_NE(withRank(plan, nullptr, one.communicator(0), 1, nothing).message().find("for 2 ranks; there is 1"),
            std::string::npos);
  EXPECT_NE(withRank(plan, nullptr, two.communicator(0), 1, nothing).message().find("'increment' is not among"),
            std::string::npos);
}

// The device decides how much scratch a kernel needs. Here it computes in f32, and needs room for the three matrices.
TEST(Rank, RefusesTooLittleScratch) {
  PlanBuilder b;
  unsigned data = b.region("data", fb::RegionKind::persistent, 4096);
  KernelParams params(*findKernelDef("matmul"));
  std::vector<int64_t> list;
  for (const char *name : {"transpose_a", "transpose_b"})
    params.set(name, 0);
  for (const char *name : {"batch", "batch_a", "batch_b"})
    params.set(name, 1);
  for (const char *name : {"dtype", "out_dtype"})
    params.set(name, int64_t(fb::DType::f16));
  ASSERT_TRUE(params.set("m", 4).set("n", 4).set("k", 4).finish(&list).isOk());
  auto k = b.kernel(fb::KernelKind::library, "matmul", list);
  b.plan.kernels[static_cast<size_t>(k)]->scratch = 128;
  b.add(b.program("infer"), Opcode::Launch, 0,
        {b.buffer(data, 0, 32), b.buffer(data, 64, 32), b.buffer(data, 128, 32), b.buffer(data, 192, 128)}, {k});
  const fb::Plan &plan = b.open();
  LocalWorld world(1);
  Status status = withRank(plan, nullptr, world.communicator(0), 1, [](Rank &) { return Status::ok(); });
  EXPECT_NE(status.message().find("bytes of 'scratch'; the plan gives it 128 (with 1 thread, the library"),
            std::string::npos)
      << status.message();
}

TEST(Rank, TracesEveryStream) {
  PlanBuilder b = makeReducePlan(true);
  b.plan.axes[0]->size = 1;
  const fb::Plan &plan = b.open();
  cleave_kernel_fn kernels[] = {pause20ms, increment};
  LocalWorld world(1);
  ChromeTrace trace;
  ASSERT_TRUE(withRank(
                  plan, kernels, world.communicator(0), 1,
                  [&](Rank &rank) { return rank.run(*findProgram(plan, "train_step")); }, &trace)
                  .isOk());
  auto json = nlohmann::json::parse(trace.json());
  std::map<std::string, int> seen;
  for (const auto &event : json["traceEvents"])
    ++seen[event["name"].get<std::string>()];
  EXPECT_EQ(seen["thread_name"], 2);
  EXPECT_EQ(seen["bucket.0"], 1);
  EXPECT_EQ(seen["pause20ms"], 1);
}

// This does not measure speed. It finds a lock or an allocation that was added to each instruction.
TEST(Rank, InstructionsCostLittle) {
  PlanBuilder b;
  unsigned data = b.region("data", fb::RegionKind::persistent, 64);
  auto &step = b.program("train_step");
  for (int i = 0; i < 10000; ++i)
    b.add(step, Opcode::Copy, 0, {b.buffer(data, 0, 8), b.buffer(data, 32, 8)}, {});
  const fb::Plan &plan = b.open();
  LocalWorld world(1);
  Status status = withRank(plan, nullptr, world.communicator(0), 1, [&](Rank &rank) {
    const fb::Program &program = *findProgram(plan, "train_step");
    double ns = 1e9;
    for (int i = 0; i < 20; ++i) { // the minimum, because other work on the machine only adds time
      auto begin = std::chrono::steady_clock::now();
      CLEAVE_TRY(rank.run(program));
      std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
      ns = std::min(ns, taken.count() / 10000);
    }
    std::printf("%.1f ns per instruction\n", ns);
    EXPECT_LT(ns, 1000);
    return Status::ok();
  });
  EXPECT_TRUE(status.isOk()) << status.message();
}

} // namespace

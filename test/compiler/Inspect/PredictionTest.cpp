#include "compiler/Inspect/Prediction.h"
#include "test/runtime/device/PlanBuilder.h"

using namespace cleave;
using namespace cleave::rt;
using rt::test::PlanBuilder;

namespace {

constexpr auto r = fb::Access::read, w = fb::Access::write;

// 5e11 FLOP/s and 8e10 bytes/s, 1 us for a launch. In a node: 1e9 bytes/s, and 2 us for a message. Between nodes: a
// tenth.
MachineModel machineOf(uint64_t nodeRanks) {
  MachineModel machine;
  machine.name = "a machine";
  machine.source = "a sheet";
  machine.productRates["f32"] = 2e12;
  machine.vectorRates["f32"] = 1e12;
  machine.vectorEfficiency = 0.5;
  machine.memoryRate = 1e11;
  machine.memoryEfficiency = 0.8;
  machine.launchSeconds = 1e-6;
  machine.nodeRanks = nodeRanks;
  machine.node = {1e10, 2e-6};
  machine.network = Link{1e9, 2e-5};
  machine.linkEfficiency = 0.1;
  return machine;
}

// A plan of two ranks. Kernel a (2e9 flops, 4 ms) and kernel b (1.6e8 bytes, 2 ms) are on one stream. On the other
// stream, after a, is an all-gather of 1e7 bytes. Half of them are sent, in one message.
struct Overlap {
  explicit Overlap(bool waits = true) : builder({{"dp", 2}}) {
    unsigned s = builder.region("state", fb::RegionKind::persistent, 10000000);
    builder.group({0});
    fb::Buffer in = PlanBuilder::buffer(s, 0, 64, r), out = PlanBuilder::buffer(s, 64, 64, w);
    int64_t a = builder.generated("a", {in, out});
    builder.plan.kernels.back()->flops = 2000000000;
    int64_t b = builder.generated("b", {in, out});
    builder.plan.kernels.back()->bytes = 160000000;
    auto &program = builder.program("train_step", 1);
    builder.add(program, Opcode::Launch, 0, {in, out}, {a}, "node 'first' (Mul)");
    builder.add(program, Opcode::Record, 0, {}, {0, 0});
    if (waits)
      builder.add(program, Opcode::Wait, 1, {}, {0, 0});
    builder.add(program, Opcode::AllGather, 1, {PlanBuilder::buffer(s, 0, 10000000)}, {0, 0, 0, 2500000});
    builder.add(program, Opcode::Launch, 0, {in, out}, {b}, "node 'second' (Mul)");
  }
  view::Prediction predict(const MachineModel &machine) {
    const fb::Plan &plan = builder.open();
    EXPECT_TRUE(plan::checkMachine(plan, machine).isOk());
    view::Prediction prediction;
    Status status = view::predict(plan, plan::InstructionCosts(plan, machine), &prediction);
    EXPECT_TRUE(status.isOk()) << status.message();
    return prediction;
  }
  PlanBuilder builder;
};

TEST(Prediction, CommunicationThatNothingHidesIsExposed) {
  Overlap plan;
  view::Prediction found = plan.predict(machineOf(2));
  // a ends at 4.001 ms, and b at 6.002 ms. The all-gather begins when a ends, and takes 5.002 ms.
  EXPECT_NEAR(found.seconds, 9.003e-3, 1e-9);
  ASSERT_EQ(found.kinds.size(), 1u);
  EXPECT_NEAR(found.kinds[0].communication, 5.002e-3, 1e-9);
  EXPECT_NEAR(found.kinds[0].exposed, 3.001e-3, 1e-9);
  ASSERT_EQ(found.kinds[0].streams.size(), 2u);
  EXPECT_NEAR(found.kinds[0].streams[0].compute, 6.002e-3, 1e-9);
  EXPECT_EQ(found.kinds[0].streams[0].communication, 0);
  EXPECT_NEAR(found.kinds[0].streams[1].communication, 5.002e-3, 1e-9);
  ASSERT_EQ(found.kernels.size(), 2u);
  EXPECT_EQ(found.kernels[0].node, "first");
  EXPECT_NEAR(found.kernels[0].seconds, 4.001e-3, 1e-9);
  EXPECT_NEAR(found.kernels[1].seconds, 2.001e-3, 1e-9);
}

TEST(Prediction, WithoutTheWaitComputingHidesIt) {
  Overlap plan(/*waits=*/false);
  view::Prediction found = plan.predict(machineOf(2));
  EXPECT_NEAR(found.seconds, 6.002e-3, 1e-9);
  EXPECT_NEAR(found.kinds[0].exposed, 0, 1e-12);
}

// Two all-gathers on two streams, 5.002 ms each. A GPU runs all communication of a rank in issue order; on a host each
// stream has a thread of its own.
TEST(Prediction, GpusCommunicateInIssueOrder) {
  auto seconds = [](const char *target) {
    PlanBuilder builder({{"dp", 2}});
    builder.plan.target = target;
    builder.plan.streams.push_back("gather");
    unsigned s = builder.region("state", fb::RegionKind::persistent, 20000000);
    builder.group({0});
    auto &program = builder.program("train_step");
    for (unsigned stream : {1, 2})
      builder.add(program, Opcode::AllGather, stream, {PlanBuilder::buffer(s, (stream - 1) * 10000000, 10000000)},
                  {0, 0, 0, 2500000});
    const fb::Plan &plan = builder.open();
    view::Prediction prediction;
    Status status = view::predict(plan, plan::InstructionCosts(plan, machineOf(2)), &prediction);
    EXPECT_TRUE(status.isOk()) << status.message();
    return prediction.seconds;
  };
  EXPECT_NEAR(seconds("host:test"), 5.002e-3, 1e-9);
  EXPECT_NEAR(seconds("cuda:sm_90"), 10.004e-3, 1e-9);
}

TEST(Prediction, RanksOnSeveralNodesUseTheNetwork) {
  Overlap plan;
  EXPECT_NEAR(plan.predict(machineOf(1)).kinds[0].communication, 50.02e-3, 1e-9);
}

TEST(Prediction, KernelsAreBoundByTheSlowerOfTheirTwoRates) {
  Overlap plan;
  const fb::Plan &opened = plan.builder.open();
  plan::InstructionCosts costs(opened, machineOf(2));
  EXPECT_EQ(costs.kernel(opened, 0).bound, plan::Bound::Compute);
  EXPECT_EQ(costs.kernel(opened, 1).bound, plan::Bound::Memory);
  MachineModel slow = machineOf(2);
  slow.launchSeconds = 0.5;
  EXPECT_EQ(plan::InstructionCosts(opened, slow).kernel(opened, 0).bound, plan::Bound::Launch);
}

// fsdp is the last axis, so its ranks have consecutive numbers.
TEST(Prediction, AxesLieInNodesInTheOrderOfRanks) {
  PlanBuilder builder({{"dp", 2}, {"fsdp", 8}});
  builder.program("train_step");
  const fb::Plan &plan = builder.open();
  auto between = [&](uint64_t nodeRanks) {
    return std::pair(plan::isBetweenNodes(plan, machineOf(nodeRanks), 0),
                     plan::isBetweenNodes(plan, machineOf(nodeRanks), 1));
  };
  EXPECT_EQ(between(16), std::pair(false, false));
  EXPECT_EQ(between(8), std::pair(true, false));
  EXPECT_EQ(between(4), std::pair(true, true));
  EXPECT_EQ(between(12), std::pair(true, true)); // ranks 8 to 15 are on two nodes
}

TEST(Prediction, WhatThePlanNeedsAndTheMachineLacksIsNamed) {
  Overlap plan;
  const fb::Plan &opened = plan.builder.open();
  MachineModel machine = machineOf(1);
  machine.network.reset();
  EXPECT_EQ(plan::checkMachine(opened, machine).message().substr(0, 44),
            "network: the plan is for 2 ranks, more than ");
  machine = machineOf(2);
  machine.vectorRates.clear();
  EXPECT_EQ(plan::checkMachine(opened, machine).message().substr(0, 28), "vector_flops_per_second.f32:");
  machine = machineOf(2);
  machine.targets = {"cuda:sm_90"};
  EXPECT_EQ(plan::checkMachine(opened, machine).message().substr(0, 31), "the plan is for host:test, and ");
}

// The tokens are samples of both ranks and all micro-batches, times the row length of the integer input.
TEST(Prediction, TokensAreTheNumbersOfAllSequences) {
  PlanBuilder builder({{"dp", 2}});
  unsigned in = builder.region("input", fb::RegionKind::input, 4096, 3);
  builder.plan.batch = 4;
  builder.plan.micro_batches = 3;
  builder.plan.data_axes = {0};
  auto &program = builder.program("train_step");
  program.inputs.push_back(std::make_unique<fb::PortT>());
  fb::PortT &port = *program.inputs.back();
  port.name = "tokens";
  port.dtype = fb::DType::i64;
  port.shape = {4, 16};
  port.region = static_cast<uint16_t>(in);
  port.batch_dim = 0;
  port.split_axes = {0};
  const fb::Plan &plan = builder.open();
  EXPECT_EQ(view::samplesOf(plan), 24u);
  EXPECT_EQ(view::tokensOf(plan), 384u);
}

// Peak rates: products 2e12 in f32 and 8e12 in bf16, other kernels 1e12 in f32 and 1e11 in f64. Attention reaches a
// quarter.
struct Kernels {
  explicit Kernels(const std::string &target) {
    builder.plan.target = target;
    builder.plan.streams.push_back("gather");
    builder.program("train_step");
    machine.productRates = {{"f32", 2e12}, {"bf16", 8e12}};
    machine.vectorRates = {{"f32", 1e12}, {"f64", 1e11}};
    machine.vectorEfficiency = 1;
    machine.attentionEfficiency = 0.25;
    machine.launchSeconds = 0;
  }
  // The predicted time of a kernel with 8e12 flops.
  double seconds(const std::string &name, std::vector<int64_t> params) {
    builder.kernel(findKernelDef(name)->kind, name, std::move(params));
    builder.plan.kernels.back()->flops = 8000000000000;
    size_t index = builder.plan.kernels.size() - 1;
    const fb::Plan &plan = builder.open();
    return plan::InstructionCosts(plan, machine).kernel(plan, index).seconds;
  }
  PlanBuilder builder;
  MachineModel machine = machineOf(8);
};

constexpr auto f32 = int64_t{static_cast<int>(fb::DType::f32)}, bf16 = int64_t{static_cast<int>(fb::DType::bf16)};
constexpr auto f64 = int64_t{static_cast<int>(fb::DType::f64)}, i64 = int64_t{static_cast<int>(fb::DType::i64)};

TEST(Prediction, WorkAndTypeChooseTheRate) {
  Kernels gpu("cuda:sm_90");
  auto matmul = [](int64_t type) { return std::vector<int64_t>{type, type, 1, 1, 1, 4, 4, 4, 0, 0, 0}; };
  std::vector<int64_t> attention{bf16, f32, 1, 1, 4, 4, 4, 4, 0, 0};
  // Two-dimensional, with one pixel: dtype n ic oc groups packed_w channels_last rank, then in, out, kernel, stride,
  // dilation, both pads.
  std::vector<int64_t> convolution{bf16, 1, 1, 1, 1, 0, 0, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
  EXPECT_DOUBLE_EQ(gpu.seconds("matmul", matmul(f32)), 4);
  EXPECT_DOUBLE_EQ(gpu.seconds("matmul", matmul(bf16)), 1);
  EXPECT_DOUBLE_EQ(gpu.seconds("attention", attention), 4);
  EXPECT_DOUBLE_EQ(gpu.seconds("argmax", {f64, 1, 4, 1}), 80);
  EXPECT_DOUBLE_EQ(gpu.seconds("argmax", {bf16, 1, 4, 1}), 8); // computed in f32
  EXPECT_DOUBLE_EQ(gpu.seconds("argmax", {i64, 1, 4, 1}), 8);
  EXPECT_DOUBLE_EQ(gpu.seconds("convolution", convolution), 1);
  // Windows of two over three numbers, with one zero after the last number. cuDNN has the same padding on both sides.
  std::vector<int64_t> lopsided{bf16, 1, 1, 1, 1, 0, 0, 2, 3, 3, 3, 3, 2, 2, 1, 1, 1, 1, 0, 0, 1, 1};
  std::vector<int64_t> ofDoubles = convolution;
  ofDoubles[0] = f64;
  EXPECT_DOUBLE_EQ(gpu.seconds("convolution", lopsided), 8);
  EXPECT_DOUBLE_EQ(gpu.seconds("convolution", ofDoubles), 80);
  Kernels host("host:avx512");
  EXPECT_DOUBLE_EQ(host.seconds("convolution", convolution), 1);
  // The compiler has found that the library computes bf16 in f32.
  Kernels old("host:avx512");
  old.builder.plan.properties.push_back(std::make_unique<fb::PropertyT>());
  old.builder.plan.properties.back()->key = "kernels.bf16";
  old.builder.plan.properties.back()->value = "emulated in f32";
  EXPECT_DOUBLE_EQ(old.seconds("matmul", matmul(bf16)), 4);
}

// 8e10 bytes/s of memory. To a rank of the node: 1e9 bytes/s and 2 us. To the host: 5e8 bytes/s and 5 us.
TEST(Prediction, CopiesAndCollectivesTakeTheirFormulas) {
  PlanBuilder builder({{"dp", 4}});
  unsigned device = builder.region("state", fb::RegionKind::persistent, 8000000);
  unsigned host = builder.region("offloaded", fb::RegionKind::persistent, 8000000);
  builder.plan.regions.back()->space = fb::Space::host;
  builder.group({0});
  auto &program = builder.program("train_step");
  fb::Buffer data = PlanBuilder::buffer(device, 0, 4000000), part = PlanBuilder::buffer(device, 4000000, 1000000);
  auto target = PlanBuilder::buffer(device, 4000000, 4000000, w), source = PlanBuilder::buffer(device, 0, 4000000, r);
  builder.add(program, Opcode::Copy, 0, {target, source}, {});
  builder.add(program, Opcode::Fill, 0, {target}, {0, 1});
  builder.add(program, Opcode::Copy, 0, {target, PlanBuilder::buffer(host, 0, 4000000, r)}, {});
  builder.add(program, Opcode::AllReduce, 0, {data, part}, {0, 0, 0, 0, 1000000});
  builder.add(program, Opcode::ReduceScatter, 0, {data, part}, {0, 0, 0, 0, 1000000});
  builder.add(program, Opcode::AllGather, 0, {data}, {0, 0, 0, 1000000});
  const fb::Plan &plan = builder.open();
  MachineModel machine = machineOf(4);
  EXPECT_EQ(plan::checkMachine(plan, machine).message().substr(0, 10), "host_copy:");
  machine.hostCopy = Link{5e9, 5e-6};
  ASSERT_TRUE(plan::checkMachine(plan, machine).isOk());
  plan::InstructionCosts costs(plan, machine);
  // In order: read and write; write; the link to the host; then 6, 3 and 3 messages with a quarter of the bytes each.
  double expected[] = {1e-6 + 1e-4, 1e-6 + 5e-5, 5e-6 + 8e-3, 12e-6 + 6e-3, 6e-6 + 3e-3, 6e-6 + 3e-3};
  for (uint32_t i = 0; i < 6; ++i)
    EXPECT_NEAR(costs.seconds(plan, InstructionView(*plan.programs()->Get(0)->instructions()->Get(i))), expected[i],
                1e-12)
        << i;
}

} // namespace

#include "compiler/Simulator/InstructionCosts.h"
#include "compiler/Simulator/TrafficTimes.h"
#include "test/runtime/device/PlanBuilder.h"

using namespace cleave;
using namespace cleave::rt;
using rt::test::PlanBuilder;

namespace {

constexpr auto r = fb::Access::read, w = fb::Access::write;

// 1e12 bytes/s from the near cache, and 1e9 bytes/s from memory.
Measurements twoLevels() {
  Measurements measured;
  measured.traffic = {{100000, 1e12}, {100001, 1e9}};
  return measured;
}

InstructionView viewAt(const fb::Plan &plan, unsigned program, unsigned instruction) {
  return InstructionView(*plan.programs()->Get(program)->instructions()->Get(instruction));
}

// x is written, then other bytes (60,000 or 200,000) are touched, then x is read.
double secondsOfReader(uint64_t between) {
  PlanBuilder builder;
  unsigned s = builder.region("state", fb::RegionKind::persistent, 1000000);
  fb::Buffer x = PlanBuilder::buffer(s, 0, 1000, w), others = PlanBuilder::buffer(s, 2048, between, w);
  fb::Buffer out = PlanBuilder::buffer(s, 600000, 1000, w), in = PlanBuilder::buffer(s, 0, 1000, r);
  auto &program = builder.program("train_step");
  builder.add(program, Opcode::Fill, 0, {x}, {0, 4});
  builder.add(program, Opcode::Fill, 0, {others}, {0, 4});
  builder.add(program, Opcode::Copy, 0, {out, in}, {});
  const fb::Plan &plan = builder.open();
  return *plan::TrafficTimes(plan, twoLevels()).seconds(viewAt(plan, 0, 2));
}

TEST(TrafficTimes, BytesComeFromTheCacheThatTheTrafficSinceLeavesThemIn) {
  // The copy's target was last touched in the previous step. Between are all bytes of a step: 63,000 or 203,000.
  EXPECT_NEAR(secondsOfReader(60000), 2 * 1000 / 1e12, 1e-12);
  EXPECT_NEAR(secondsOfReader(200000), 2 * 1000 / 1e9, 1e-9);
}

TEST(TrafficTimes, WhatIsNotRunHasNoTime) {
  PlanBuilder builder;
  unsigned s = builder.region("state", fb::RegionKind::persistent, 4096);
  auto &step = builder.program("train_step");
  builder.add(step, Opcode::Fill, 0, {PlanBuilder::buffer(s, 0, 64, w)}, {0, 4});
  auto &other = builder.program("evaluate");
  builder.add(other, Opcode::Fill, 0, {PlanBuilder::buffer(s, 64, 64, w)}, {0, 4});
  const fb::Plan &plan = builder.open();
  plan::TrafficTimes times(plan, twoLevels());
  EXPECT_TRUE(times.seconds(viewAt(plan, 0, 0)));
  EXPECT_FALSE(times.seconds(viewAt(plan, 1, 0)));
}

TEST(TrafficTimes, ProductsHaveTheRatesOfTheirSizes) {
  PlanBuilder builder;
  unsigned s = builder.region("state", fb::RegionKind::persistent, 1 << 20);
  KernelParams params(*findKernelDef("matmul"));
  auto f32 = static_cast<int64_t>(fb::DType::f32);
  params.set("dtype", f32).set("out_dtype", f32).set("batch", 1).set("batch_a", 1).set("batch_b", 1);
  params.set("m", 16).set("n", 16).set("k", 16).set("transpose_a", 0).set("transpose_b", 1);
  std::vector<int64_t> list;
  ASSERT_TRUE(params.finish(&list).isOk());
  builder.plan.kernels.push_back(std::make_unique<fb::KernelT>());
  fb::KernelT &kernel = *builder.plan.kernels.back();
  kernel.kind = fb::KernelKind::library;
  kernel.name = "matmul";
  kernel.params = list;
  kernel.flops = 2 * 16 * 16 * 16;
  kernel.scratch = 64;
  auto &program = builder.program("train_step");
  builder.add(program, Opcode::Launch, 0,
              {PlanBuilder::buffer(s, 0, 1024, r), PlanBuilder::buffer(s, 1024, 1024, r),
               PlanBuilder::buffer(s, 2048, 1024, w), PlanBuilder::buffer(s, 4096, 64, w)},
              {0});
  const fb::Plan &plan = builder.open();
  MachineModel machine;
  machine.productRates["f32"] = 1e12;
  machine.memoryRate = 1e15;
  machine.launchSeconds = 1e-9;
  machine.measured = twoLevels();
  for (const char *variant : {"nn", "nt"})
    machine.measured->kernels.push_back({"matmul", "f32", variant,
                                         {{"batch", {1}}, {"m", {16}}, {"n", {16}}, {"k", {16}}},
                                         {variant[1] == 't' ? 2e9 : 8e9}});
  plan::InstructionCosts costs(plan, machine);
  EXPECT_NEAR(costs.seconds(plan, viewAt(plan, 0, 0)), 1e-9 + 8192 / 2e9, 1e-12);
  EXPECT_EQ(costs.kernel(plan, 0).bound, plan::Bound::Compute);
  machine.measured->kernels.clear(); // then the peak rate is used
  EXPECT_NEAR(plan::InstructionCosts(plan, machine).seconds(plan, viewAt(plan, 0, 0)), 1e-9 + 8192 / 1e12, 1e-12);
}

} // namespace

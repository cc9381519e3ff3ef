#include "compiler/Inspect/MemoryUse.h"
#include "compiler/Inspect/Human.h"
#include "compiler/Simulator/StepTimeline.h"
#include "compiler/Simulator/Walk.h"
#include "compiler/Support/NodeNote.h"
#include "test/runtime/device/PlanBuilder.h"

using namespace cleave;
using namespace cleave::rt;
using rt::test::PlanBuilder;

namespace {

constexpr auto r = fb::Access::read, w = fb::Access::write;

std::vector<uint64_t> totals(const view::MemoryUse &use) {
  std::vector<uint64_t> list;
  for (size_t slice = 0; slice < use.peaks.size(); ++slice)
    list.push_back(use.totalAt(slice));
  return list;
}

// The example of MemoryUse.h.
TEST(MemoryUse, ValuesLiveFromTheirMakerToTheirLastReader) {
  PlanBuilder builder;
  unsigned t = builder.region("transient", fb::RegionKind::transient, 96);
  auto &program = builder.program("train_step");
  builder.add(program, Opcode::Fill, 0, {builder.buffer(t, 0, 64, w)}, {0, 1}, "node 'a' (Fill)");
  builder.add(program, Opcode::Copy, 0, {builder.buffer(t, 64, 32, w), builder.buffer(t, 0, 32, r)}, {},
              "node 'b' (Copy)");
  builder.add(program, Opcode::Copy, 0, {builder.buffer(t, 0, 32, w), builder.buffer(t, 64, 32, r)}, {},
              "node 'c' (Copy)");
  const fb::Plan &plan = builder.open();
  view::MemoryUse use = view::memoryUse(plan, 0, 100);
  EXPECT_EQ(totals(use), (std::vector<uint64_t>{64, 96, 64}));
  EXPECT_EQ(use.peakSlice, 1u);
  std::vector<view::LiveValue> alive = use.aliveAt(1);
  ASSERT_EQ(alive.size(), 2u); // the first value has two parts, of which one is overwritten
  EXPECT_EQ(alive[0].bytes, 64u);
  EXPECT_EQ(view::nameOf(plan, alive[0]), "a");
  EXPECT_EQ(view::nameOf(plan, alive[1]), "b");
}

TEST(MemoryUse, StateCountsAllTheTimeAndSlicesKeepTheirPeak) {
  PlanBuilder builder;
  unsigned s = builder.region("persistent", fb::RegionKind::persistent, 1000);
  unsigned t = builder.region("transient", fb::RegionKind::transient, 50);
  auto &program = builder.program("infer");
  for (uint64_t bytes : {10, 50, 20, 30})
    builder.add(program, Opcode::Copy, 0, {builder.buffer(t, 0, bytes, w), builder.buffer(s, 0, bytes, r)}, {});
  view::MemoryUse use = view::memoryUse(builder.open(), 0, 2);
  EXPECT_EQ(totals(use), (std::vector<uint64_t>{1050, 1030}));
  EXPECT_EQ(use.peakInstructions, (std::vector<size_t>{1, 3}));
}

// An instruction that reads and writes the same bytes does not need them twice.
TEST(MemoryUse, BytesWrittenInPlaceCountOnce) {
  PlanBuilder builder;
  unsigned t = builder.region("transient", fb::RegionKind::transient, 64);
  auto &program = builder.program("infer");
  builder.add(program, Opcode::Fill, 0, {builder.buffer(t, 0, 64, w)}, {0, 1});
  int64_t kernel = builder.generated("k", {builder.buffer(t, 0, 64, r), builder.buffer(t, 0, 64, w)}, 1, {{1, 0}});
  for (int i = 0; i < 3; ++i)
    builder.add(program, Opcode::Launch, 0, {builder.buffer(t, 0, 64, r), builder.buffer(t, 0, 64, w)}, {kernel});
  view::MemoryUse use = view::memoryUse(builder.open(), 0, 100);
  EXPECT_EQ(totals(use), (std::vector<uint64_t>{64, 64, 64, 64}));
}

// If a run is longer than the limit, only its first steps are examined, but all are counted.
TEST(MemoryUse, LongRunsAreCountedInFull) {
  constexpr int64_t kInstructions = 8, kTimes = plan::kMostInstructions / kInstructions + 5;
  PlanBuilder builder;
  unsigned s = builder.region("persistent", fb::RegionKind::persistent, 64);
  auto &body = builder.program("body", 0, /*entry=*/false);
  for (int64_t i = 0; i < kInstructions; ++i)
    builder.add(body, Opcode::Fill, 0, {builder.buffer(s, 0, 64, w)}, {0, 1});
  auto &step = builder.program("train_step");
  builder.add(step, Opcode::Fill, 0, {builder.buffer(s, 0, 64, w)}, {0, 1});
  builder.add(step, Opcode::Call, 0, {}, {0, kTimes, 0, 0});
  const fb::Plan &plan = builder.open();
  view::MemoryUse use = view::memoryUse(plan, *plan::mainProgram(plan), 4);
  EXPECT_EQ(use.allInstructions, 1u + kInstructions * kTimes);
  EXPECT_EQ(use.instructions, plan::kMostInstructions);
  EXPECT_FALSE(use.isWhole());
}

// b = f(a), loss = g(b), and the gradient reads a. Then a parameter is written.
TEST(MemoryUse, PassesOfAStepAreToldApart) {
  PlanBuilder builder;
  unsigned s = builder.region("persistent", fb::RegionKind::persistent, 1024);
  unsigned t = builder.region("transient", fb::RegionKind::transient, 1024);
  builder.state("scalar.loss_sum", fb::DType::f32, 1, s, 0).role = fb::Role::scalar;
  builder.state("w", fb::DType::f32, 16, s, 128).role = fb::Role::parameter;
  auto &step = builder.program("train_step");
  auto copy = [&](uint64_t to, uint64_t from, const char *note) {
    builder.add(step, Opcode::Copy, 0, {builder.buffer(t, to, 4, w), builder.buffer(t, from, 4, r)}, {}, note);
  };
  builder.add(step, Opcode::Fill, 0, {builder.buffer(t, 0, 64, w)}, {0, 4}, "node 'a' (Fill)");
  copy(64, 0, "node 'b' (Copy)");
  copy(128, 64, "node 'loss' (Loss)");
  copy(192, 128, "node 'loss' (Loss)");
  builder.add(step, Opcode::Copy, 0, {builder.buffer(s, 0, 4, w), builder.buffer(t, 128, 4, r)}, {});
  copy(256, 0, "node 'a' (Fill)");
  builder.add(step, Opcode::Copy, 0, {builder.buffer(s, 128, 4, w), builder.buffer(t, 256, 4, r)}, {});
  const fb::Plan &plan = builder.open();
  view::MemoryUse use = view::memoryUse(plan, 0, 100);
  std::vector<view::Pass> passes;
  for (size_t i = 0; i < use.instructions; ++i)
    passes.push_back(use.passAt(i));
  auto f = view::Pass::Forward, b = view::Pass::Backward;
  EXPECT_EQ(passes, (std::vector<view::Pass>{f, f, f, b, b, b, view::Pass::Update}));
  // Only the bytes of `a` that the gradient reads are saved. No other value outlives the loss.
  size_t saved = 0;
  for (const view::LiveValue &value : use.values)
    if (value.use == view::ValueUse::Saved) {
      EXPECT_EQ(value.born, 0u);
      saved += value.bytes;
    }
  EXPECT_EQ(saved, 64u);
}

// Norms of gradients belong to the update, and a sum over ranks that is named after a node and ends late does not end it.
// Where nothing is updated, kernels after the last node are no update.
TEST(MemoryUse, TheUpdateBeginsAfterTheKernelsOfNodes) {
  for (bool updates : {true, false}) {
    PlanBuilder builder({{"dp", 2}});
    unsigned s = builder.region("persistent", fb::RegionKind::persistent, 1024);
    unsigned t = builder.region("transient", fb::RegionKind::transient, 1024);
    builder.state("scalar.loss_sum", fb::DType::f32, 1, s, 0).role = fb::Role::scalar;
    builder.state("exp_avg", fb::DType::f32, 16, s, 128).role = fb::Role::optimizer;
    int64_t dp = builder.group({0});
    int64_t k = builder.generated("k", {builder.buffer(t, 64, 4, w), builder.buffer(t, 0, 4, r)});
    auto &step = builder.program("train_step");
    auto launch = [&](unsigned region, uint64_t to, uint64_t from, const char *note = "") {
      builder.add(step, Opcode::Launch, 0, {builder.buffer(region, to, 4, w), builder.buffer(t, from, 4, r)}, {k}, note);
    };
    launch(t, 64, 0, "node 'loss' (Loss)");
    launch(s, 0, 64);                       // the sum of the loss
    launch(t, 128, 64, "node 'a' (Gemm)"); // its gradient
    builder.add(step, Opcode::Fill, 0, {builder.buffer(t, 132, 60, w)}, {0, 4}); // padding of what is reduced
    launch(t, 256, 128);                    // the norm
    builder.add(step, Opcode::AllReduce, 1, {builder.buffer(t, 512, 64), builder.buffer(t, 600, 32)},
                {dp, int64_t(fb::DType::f32), 0, 0, 16}, "node 'loss' (Loss)");
    launch(updates ? s : t, 128, 256);
    const fb::Plan &plan = builder.open();
    view::MemoryUse use = view::memoryUse(plan, 0, 100);
    std::vector<view::Pass> passes;
    for (size_t i = 0; i < use.instructions; ++i)
      passes.push_back(use.passAt(i));
    auto f = view::Pass::Forward, b = view::Pass::Backward, last = updates ? view::Pass::Update : b;
    EXPECT_EQ(passes, (std::vector<view::Pass>{f, b, b, b, last, last, last}));
    EXPECT_EQ(use.mostInPass[static_cast<size_t>(view::Pass::Update)] != 0, updates);
    EXPECT_EQ(view::passText(plan, use, use.bodies[0], 6),
              updates ? "train_step, update" : "train_step, backward pass");
  }
}

// Two micro-batches run forward, then both backward. The saved values of both live at the same time, in one frame each.
TEST(MemoryUse, FramesOfMicroBatchesLieBesideEachOther) {
  PlanBuilder builder;
  unsigned saved = builder.region("residual", fb::RegionKind::residual, 40, 2);
  unsigned t = builder.region("transient", fb::RegionKind::transient, 40);
  auto &forward = builder.program("c0.fwd", 0, /*entry=*/false);
  builder.add(forward, Opcode::Fill, 0, {builder.buffer(saved, 0, 40, w)}, {0, 1});
  auto &backward = builder.program("c0.bwd", 0, /*entry=*/false);
  builder.add(backward, Opcode::Copy, 0, {builder.buffer(t, 0, 40, w), builder.buffer(saved, 0, 40, r)}, {});
  auto &step = builder.program("train_step");
  builder.add(step, Opcode::Call, 0, {}, {0, 2, 0, 0});
  builder.add(step, Opcode::Call, 0, {}, {1, 2, 0, 0});
  builder.plan.micro_batches = 2;
  const fb::Plan &plan = builder.open();
  view::MemoryUse use = view::memoryUse(plan, *plan::mainProgram(plan), 100);
  EXPECT_EQ(totals(use), (std::vector<uint64_t>{40, 80, 120, 80}));
  EXPECT_EQ(use.aliveAt(1).size(), 2u);
  EXPECT_EQ(plan::runsOf(plan, 2), (std::vector<uint64_t>{2, 2, 1}));
}

// openPlan() accepts this plan: 2^40 runs of a body that does nothing. They are not examined one by one.
TEST(Walk, EndsWhereBodiesWithoutInstructionsAreCalledForever) {
  PlanBuilder builder;
  constexpr int64_t kMost = 1 << 20;
  builder.program("nothing", 0, /*entry=*/false);
  builder.add(builder.program("often", 0, /*entry=*/false), Opcode::Call, 0, {}, {0, kMost, 0, 0});
  builder.add(builder.program("train_step"), Opcode::Call, 0, {}, {1, kMost, 0, 0});
  const fb::Plan &plan = builder.open();
  EXPECT_FALSE(plan::walk(plan, 2, [](const plan::WalkedInstruction &, const InstructionView &) {}));
  auto free = [](const fb::Plan &, uint32_t, const InstructionView &) { return 0.0; };
  EXPECT_FALSE(plan::timelineOf(plan, "train_step", free).has_value());
}

TEST(Human, NumbersAndNames) {
  EXPECT_EQ(view::bytesText(1023), "1023 B");
  EXPECT_EQ(view::bytesText(1536), "1.5 KiB");
  // A value that would be printed as 1024 of a unit is printed as 1 of the next unit.
  EXPECT_EQ(view::bytesText(1023 * 1024 + 972), "1023.9 KiB");
  EXPECT_EQ(view::bytesText(1048575), "1.0 MiB");
  EXPECT_EQ(view::bytesText((uint64_t{1} << 30) - 1), "1.0 GiB");
  EXPECT_EQ(view::flopsText(999), "999 FLOP");
  EXPECT_EQ(view::flopsText(999999), "1.00 MFLOP");
  EXPECT_EQ(view::bytesText(uint64_t{3} << 40), "3.0 TiB");
  EXPECT_EQ(view::flopsText(6014722848), "6.01 GFLOP");
  EXPECT_EQ(view::countText(1234567), "1,234,567");
  EXPECT_EQ(view::countText(123), "123");
  EXPECT_EQ(nodeOfNote(nodeNote("'/h.0/a'b'", "Add")), "/h.0/a'b");
  EXPECT_EQ(nodeOfNote(nodeNote("producing 'y'", "Add")), "node producing 'y' (Add)");
  EXPECT_EQ(view::shortName("a.very.long.name", 10), "a.ve..name");
  EXPECT_EQ(view::shortName("\x1b[31m", 20).find('\x1b'), std::string::npos);
  EXPECT_EQ(view::shortName("\xc2\x9b\xe2\x80\xae", 40), R"("\xc2\x9b\xe2\x80\xae")"); // C1, and right to left
  EXPECT_EQ(view::shortName("h.0/ü fc", 40), "h.0/ü fc");
  EXPECT_EQ(view::wrapped("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(view::wrapped("unbreakable", 4), (std::vector<std::string>{"unbreakable"}));
}

} // namespace

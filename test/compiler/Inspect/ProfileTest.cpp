#include "compiler/Inspect/Profile.h"
#include "compiler/Inspect/TracedInstructions.h"
#include "test/runtime/device/PlanBuilder.h"

using namespace cleave;
using namespace cleave::rt;
using rt::test::PlanBuilder;

namespace {

constexpr auto r = fb::Access::read, w = fb::Access::write;

// Kernel a of two ONNX nodes, b of one of them, and a copy on the other stream.
struct Traced {
  Traced() {
    unsigned s = builder.region("state", fb::RegionKind::persistent, 1024);
    fb::Buffer in = PlanBuilder::buffer(s, 0, 64, r), out = PlanBuilder::buffer(s, 64, 64, w);
    int64_t a = builder.generated("a", {in, out});
    builder.plan.kernels.back()->flops = 1000;
    builder.plan.kernels.back()->bytes = 500;
    int64_t b = builder.generated("b", {in, out});
    auto &program = builder.program("train_step");
    builder.add(program, Opcode::Launch, 0, {in, out}, {a}, "node 'first' (Mul)");
    builder.add(program, Opcode::Copy, 1, {PlanBuilder::buffer(s, 256, 64, w), PlanBuilder::buffer(s, 512, 64, r)}, {});
    builder.add(program, Opcode::Launch, 0, {in, out}, {b}, "node 'second' (Mul)");
    builder.add(program, Opcode::Launch, 0, {in, out}, {a}, "node 'second' (Mul)");
    measured.source = "step 2";
    measured.timeline.kinds.resize(1);
    add(0, 0, 1, "node 'first' (Mul)");
    add(0, 1, 4, "node 'second' (Mul)");
    add(0, 4, 6, "node 'second' (Mul)");
    add(1, 2, 2.5, "copy");
  }
  void add(unsigned stream, double start, double end, const std::string &name) {
    plan::StreamSpan span;
    span.stream = stream;
    span.start = start;
    span.end = end;
    span.name = name;
    measured.timeline.kinds[0].spans.push_back(span);
  }
  Status read(view::Profile *profile) {
    const fb::Plan &plan = builder.open();
    CLEAVE_TRY(view::findInstructions(plan, &measured));
    *profile = view::profileOf(plan, measured, nullptr);
    return Status::ok();
  }

  PlanBuilder builder;
  view::Measured measured;
};

// The copy of the other stream runs beside a kernel, and covers a part of the time in which no kernel runs.
TEST(Profile, TimeInWhichNothingRunsIsTold) {
  Traced traced;
  auto &spans = traced.measured.timeline.kinds[0].spans;
  spans[0].start = 0.25;
  spans[2].start = 5;
  spans[3].start = 3.5, spans[3].end = 4.5;
  view::Profile profile;
  Status status = traced.read(&profile);
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_DOUBLE_EQ(profile.kernelSeconds, 4.75);
  EXPECT_DOUBLE_EQ(profile.restSeconds, 0.25 + 0.5);
}

TEST(Profile, TimeIsSummedByKernelAndByNode) {
  Traced traced;
  view::Profile profile;
  Status status = traced.read(&profile);
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_DOUBLE_EQ(profile.seconds, 6);
  EXPECT_DOUBLE_EQ(profile.kernelSeconds, 6);
  EXPECT_DOUBLE_EQ(profile.otherSeconds, 0.5);
  EXPECT_DOUBLE_EQ(profile.restSeconds, 0);
  ASSERT_EQ(profile.kernels.size(), 2u);
  for (const view::ProfileRow &row : profile.kernels) {
    bool isA = row.kernel == 0; // a takes 1 + 2 seconds, b takes 3
    EXPECT_DOUBLE_EQ(row.seconds, 3);
    EXPECT_EQ(row.launches, isA ? 2u : 1u);
    EXPECT_EQ(row.nodes, isA ? 2u : 1u);
    EXPECT_DOUBLE_EQ(row.flops, isA ? 2000 : 0);
    EXPECT_DOUBLE_EQ(row.bytes, isA ? 1000 : 0);
  }
  ASSERT_EQ(profile.nodes.size(), 2u);
  EXPECT_EQ(profile.nodes[0].node, "second");
  EXPECT_DOUBLE_EQ(profile.nodes[0].seconds, 5);
  EXPECT_EQ(profile.nodes[0].launches, 2u);
  EXPECT_DOUBLE_EQ(profile.nodes[1].seconds, 1);
}

TEST(Profile, TracesOfAnotherPlanAreRefused) {
  Traced renamed;
  renamed.measured.timeline.kinds[0].spans[1].name = "node 'third' (Mul)";
  view::Profile profile;
  EXPECT_EQ(renamed.read(&profile).message().substr(0, 83),
            "the trace is not of this program: number 2 on stream compute is 'node 'third' (Mul)");
  Traced shorter;
  shorter.measured.timeline.kinds[0].spans.erase(shorter.measured.timeline.kinds[0].spans.begin() + 2);
  EXPECT_EQ(shorter.read(&profile).message().substr(0, 75),
            "the step has 2 spans on stream compute, and the plan 3 instructions; take t");
}

} // namespace

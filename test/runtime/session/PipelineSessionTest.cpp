// A session with a pipeline: inputs reach the stage that reads them, and outputs come from the stage that computes
// them.
#include "runtime/plan/Seals.h"
#include "runtime/session/GlobalTensor.h"
#include "runtime/session/Session.h"
#include "test/runtime/device/PlanBuilder.h"

#include <numeric>

using namespace cleave::rt;
using cleave::rt::test::PlanBuilder;

namespace {

constexpr int64_t kElements = 8; // elements of one rank: [2, 4]

// `infer`: the first stage sends x to the last stage, which outputs it.
PlanBuilder makeStage(unsigned stage, unsigned dp) {
  PlanBuilder b({{"pp", 2}, {"dp", dp}});
  b.plan.kind = "stage" + std::to_string(stage);
  b.plan.data_axes = {1};
  b.plan.batch = 2;
  b.plan.where.push_back(std::make_unique<fb::AxisRangeT>());
  b.plan.where[0]->begin = stage;
  b.plan.where[0]->end = stage + 1;
  b.region("unused", fb::RegionKind::transient, 64);
  unsigned region = b.region(stage == 0 ? "input" : "output",
                             stage == 0 ? fb::RegionKind::input : fb::RegionKind::output, kElements * 4);
  fb::ProgramT &infer = b.program("infer");
  auto addPort = [&](auto &ports, const char *name, bool isHere) {
    ports.push_back(std::make_unique<fb::PortT>());
    ports[0]->name = name;
    ports[0]->shape = {2, 4};
    ports[0]->region = static_cast<uint16_t>(isHere ? region : 0);
    ports[0]->absent = !isHere;
    ports[0]->batch_dim = 0;
    ports[0]->split_axes = {1};
  };
  addPort(infer.inputs, "x", stage == 0);
  addPort(infer.outputs, "y", stage == 1);
  auto access = stage == 0 ? fb::Access::read : fb::Access::write;
  b.add(infer, stage == 0 ? Opcode::Send : Opcode::Recv, 1, {b.buffer(region, 0, kElements * 4, access)},
        {0, stage == 0 ? 1 : -1, 0, int64_t(fb::DType::f32), kElements});
  b.pack();
  return b;
}

TEST(PipelineSession, TakesResultsFromTheStageThatHasThem) {
  for (unsigned dp : {1u, 2u}) {
    PlanBuilder builder = makeStage(0, dp), last = makeStage(1, dp);
    builder.plan.kinds.push_back(std::make_unique<fb::PlanT>(last.plan));
    builder.open();
    cleave_model model{};
    model.abi = CLEAVE_MODEL_ABI;
    model.name = "pipeline";
    model.plan = builder.pack().data();
    model.plan_size = builder.packedSize();
    auto seals = sealsOf(*fb::GetPlan(model.plan), model.plan, model.plan_size);
    model.kernel_facts = seals.data(); // there are no kernels
    Session session;
    SessionOptions options;
    options.threads = 1; // the test is not about thread teams
    Status opened = Session::open(model, options, &session);
    ASSERT_TRUE(opened.isOk()) << opened.message();
    GlobalTensor x, y;
    ASSERT_TRUE(GlobalTensor::find(session, "infer", "x", /*output=*/false, &x).isOk());
    ASSERT_TRUE(GlobalTensor::find(session, "infer", "y", /*output=*/true, &y).isOk());
    std::vector<float> in(kElements * dp), out(kElements * dp);
    std::iota(in.begin(), in.end(), 1.0f);
    x.scatter(session, reinterpret_cast<const std::byte *>(in.data()));
    const fb::Program *infer = nullptr;
    ASSERT_TRUE(session.entry("infer", &infer).isOk());
    Status ran = session.run(*infer);
    ASSERT_TRUE(ran.isOk()) << ran.message();
    ASSERT_TRUE(y.gather(session, reinterpret_cast<std::byte *>(out.data())).isOk());
    EXPECT_EQ(out, in);
    for (unsigned local = 0; local < 2 * dp; ++local) {
      EXPECT_EQ(session.answersFor(local, *infer->inputs()->Get(0)), local < dp);
      EXPECT_EQ(session.answersFor(local, *infer->outputs()->Get(0)), local >= dp);
    }
    EXPECT_FALSE(session.hasEverywhere(*infer->outputs()->Get(0)));
  }
}

} // namespace

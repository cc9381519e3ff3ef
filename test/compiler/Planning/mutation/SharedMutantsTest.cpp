// Restated mutants of a plan with much that is shared: two kinds of ranks, an event of the plan, three programs with
// inputs and outputs, and calls. A forger's plan may compute anything. But if the verifier
// accepts it, it ends, and with an outcome that the oracle takes for one (Observations.h).
#include "test/compiler/Planning/mutation/AsArtefact.h"
#include "test/compiler/Planning/mutation/Mutator.h"
#include "test/compiler/Planning/mutation/Oracle.h"
#include "test/compiler/Planning/mutation/Restate.h"
#include "test/runtime/device/PlanBuilder.h"

#include <cstdlib>
#include <set>

namespace cleave::mutation {
namespace {

using rt::Opcode;
using rt::test::PlanBuilder;
using Access = fb::Access;

fb::Buffer at(unsigned region, uint64_t offset, Access access) {
  return PlanBuilder::buffer(region, offset, 64, access);
}

void addPort(std::vector<std::unique_ptr<fb::PortT>> &ports, const char *name, unsigned region, uint64_t offset,
             bool isSplit) {
  ports.push_back(std::make_unique<fb::PortT>());
  fb::PortT &port = *ports.back();
  port.name = name;
  port.shape = {16};
  port.region = static_cast<uint16_t>(region);
  port.offset = offset;
  port.batch_dim = isSplit ? 0 : -1;
  if (isSplit)
    port.split_axes = {0};
}

void addState(PlanBuilder &builder, const char *name, fb::Role role, unsigned region, uint64_t offset) {
  fb::StateT &state = builder.state(name, fb::DType::f32, 16, region, offset);
  state.role = role;
  state.segments.push_back(std::make_unique<fb::SegmentT>());
  state.segments[0]->name = name;
  state.segments[0]->shape = {16};
}

// One kind: its gradient of each micro-batch is added up on the second stream, then reduced, and the weight updated.
void build(PlanBuilder &kind, unsigned coordinate) {
  fb::PlanT &plan = kind.plan;
  plan.kind = coordinate == 0 ? "first" : "second";
  plan.where.push_back(std::make_unique<fb::AxisRangeT>());
  plan.where.back()->begin = coordinate;
  plan.where.back()->end = coordinate + 1;
  plan.data_axes = {0};
  plan.batch = 16;
  plan.micro_batches = 4;
  plan.events = {fb::Event(2, fb::Counter::micro_batch)};
  unsigned persistent = kind.region("persistent", fb::RegionKind::persistent, 192);
  unsigned input = kind.region("input", fb::RegionKind::input, 64, 4);
  unsigned output = kind.region("output", fb::RegionKind::output, 128);
  unsigned residual = kind.region("residual", fb::RegionKind::residual, 64, 4);
  unsigned staging = kind.region("communication", fb::RegionKind::communication, 64);
  addState(kind, "weight", fb::Role::parameter, persistent, 0);
  addState(kind, "count", fb::Role::scalar, persistent, 64);
  addState(kind, "gradient", fb::Role::gradient, persistent, 128);
  plan.states.back()->partial_axes = {0};
  int64_t group = kind.group({0});

  fb::Buffer x = at(input, 0, Access::read), w = at(persistent, 0, Access::read);
  std::vector<fb::Buffer> product = {x, w, at(residual, 0, Access::write)};
  std::vector<fb::Buffer> sum = {at(residual, 0, Access::read), at(persistent, 128, Access::read),
                                 at(persistent, 128, Access::write)};
  std::vector<fb::Buffer> update = {at(persistent, 128, Access::read), w, at(persistent, 0, Access::write)};
  std::vector<fb::Buffer> inference = {x, w, at(output, 0, Access::write)};
  int64_t multiply = kind.generated("multiply", product), add = kind.generated("add", sum, 1, {{2, 1}});
  int64_t step = kind.generated("step", update, 1, {{2, 1}}), infer = kind.generated("infer", inference);

  fb::ProgramT &backward = kind.program("backward", 0, false);
  kind.add(backward, Opcode::Launch, 0, product, {multiply});
  kind.add(backward, Opcode::Record, 0, {}, {0, 0});
  kind.add(backward, Opcode::Wait, 1, {}, {0, 0});
  kind.add(backward, Opcode::Launch, 1, sum, {add});
  fb::ProgramT &train = kind.program("train_step");
  addPort(train.inputs, "x", input, 0, true);
  kind.add(train, Opcode::Fill, 1, {at(persistent, 128, Access::write)}, {0, 4});
  kind.add(train, Opcode::Call, 0, {}, {0, 2, 0, 0, 0});
  kind.add(train, Opcode::Call, 0, {}, {0, 2, 2, 0, 0});
  kind.add(train, Opcode::AllReduce, 1, {at(persistent, 128, Access::read_write), at(staging, 0, Access::write)},
           {group, int64_t(fb::DType::f32), 0, 0, 16});
  kind.add(train, Opcode::Launch, 1, update, {step});
  fb::ProgramT &inferring = kind.program("infer");
  addPort(inferring.inputs, "x", input, 0, true);
  addPort(inferring.outputs, "y", output, 0, true);
  kind.add(inferring, Opcode::Launch, 0, inference, {infer});
  fb::ProgramT &evaluate = kind.program("evaluate");
  addPort(evaluate.outputs, "z", output, 64, false);
  kind.add(evaluate, Opcode::Copy, 0, {at(output, 64, Access::write), w}, {});
  kind.pack(); // computes the facts of the kernels
}

class Opened {
public:
  explicit Opened(const fb::PlanT &plan) { fb::FinishPlanBuffer(builder_, fb::Plan::Pack(builder_, &plan)); }
  // Null if the reader refuses it.
  const fb::Plan *get() const {
    const fb::Plan *plan = nullptr;
    return rt::openPlan(builder_.GetBufferPointer(), builder_.GetSize(), &plan).isOk() ? plan : nullptr;
  }

private:
  flatbuffers::FlatBufferBuilder builder_;
};

TEST(SharedMutants, NoRestatedOneIsUnsound) {
  const std::vector<std::pair<std::string, unsigned>> mesh = {{"dp", 2}};
  PlanBuilder first(mesh), second(mesh);
  build(first, 0);
  build(second, 1);
  first.plan.kinds.push_back(std::make_unique<fb::PlanT>(std::move(second.plan)));
  const fb::Plan *read = nullptr;
  ASSERT_EQ(first.tryOpen(&read).message(), "");
  ASSERT_TRUE(restate(first.plan));
  Opened original(first.plan);
  ASSERT_TRUE(original.get());
  AsArtefact artefact(*original.get());
  EXPECT_EQ(artefact.brokenRules(*original.get()), std::vector<std::string>());
  std::unique_ptr<Oracle> oracle;
  ASSERT_EQ(Oracle::open(*original.get(), &oracle), "");
  uint64_t mutants = std::getenv("CLEAVE_MUTANTS") ? std::strtoull(std::getenv("CLEAVE_MUTANTS"), nullptr, 10) : 500;
  uint64_t accepted = 0, unsound = 0;
  std::set<std::string> kinds; // in mutants that the oracle finds unsound
  for (uint64_t seed = 1; seed <= mutants; ++seed) {
    std::optional<Mutant> mutant = mutate(*original.get(), seed, kRestated);
    const fb::Plan *opened = nullptr;
    if (!mutant || !rt::openPlan(mutant->data(), mutant->size, &opened).isOk())
      continue;
    std::vector<std::string> rules = artefact.brokenRules(*opened);
    bool isAccepted = rules.empty() || rules.front() == AsArtefact::kSeal; // as a plan in a file of its own
    std::string problem = Oracle::open(*opened, &oracle);
    accepted += isAccepted;
    unsound += !problem.empty();
    EXPECT_TRUE(!isAccepted || problem.empty()) << "seed " << seed << ": " << mutant->change << " | " << problem;
    for (const MutationKind &kind : sharedKinds())
      if (!problem.empty() && mutant->change.find(kind.name + ",") != std::string::npos)
        kinds.insert(kind.name);
  }
  std::printf("%lu mutants, %lu accepted, %lu unsound\n", mutants, accepted, unsound);
  EXPECT_GT(accepted, mutants / 50);
  EXPECT_GT(unsound, mutants / 4);
  EXPECT_GE(kinds.size(), 7u); // nothing here has a scratch to share
}

} // namespace
} // namespace cleave::mutation

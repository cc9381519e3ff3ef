// Plans that are wrong, whatever numbers they state: a forger can compute the numbers with the verifier's own code. Each
// test also has the plan without the mistake, or with one that was always found.
#include "test/compiler/Planning/FindingsOf.h"

#include <gtest/gtest.h>

namespace cleave::plan {
namespace {

namespace fb = rt::fb;
using rt::Opcode;
using rt::test::PlanBuilder;
using Access = fb::Access;

constexpr int64_t kF32 = int64_t(fb::DType::f32);
using Mesh = std::vector<std::pair<std::string, unsigned>>;

// The plan of the first kind has those of the others.
std::string findingsOfKinds(std::vector<PlanBuilder> kinds) {
  for (PlanBuilder &kind : kinds)
    kind.pack(); // computes the facts of its kernels
  for (size_t i = 1; i < kinds.size(); ++i)
    kinds[0].plan.kinds.push_back(std::make_unique<fb::PlanT>(std::move(kinds[i].plan)));
  return findingsOf(kinds[0]);
}

std::string ruleOf(const std::string &found) { return found.substr(0, found.find(':')); }

struct Range {
  unsigned axis, begin, end;
};

std::vector<PlanBuilder> kindsAt(const Mesh &mesh, const std::vector<std::vector<Range>> &places) {
  std::vector<PlanBuilder> kinds;
  for (const std::vector<Range> &place : places) {
    kinds.emplace_back(mesh);
    fb::PlanT &plan = kinds.back().plan;
    plan.kind = std::string(1, static_cast<char>('a' + kinds.size() - 1));
    for (const Range &range : place) {
      plan.where.push_back(std::make_unique<fb::AxisRangeT>());
      plan.where.back()->axis = range.axis;
      plan.where.back()->begin = range.begin;
      plan.where.back()->end = range.end;
    }
  }
  return kinds;
}

std::vector<PlanBuilder> twoKinds() { return kindsAt({{"dp", 2}}, {{{0, 0, 1}}, {{0, 1, 2}}}); }

fb::StateT &addState(PlanBuilder &builder, const char *name, fb::Role role, unsigned region, uint64_t offset = 0,
                     int64_t elements = 16) {
  fb::StateT &state = builder.state(name, fb::DType::f32, static_cast<uint64_t>(elements), region, offset);
  state.role = role;
  state.segments.push_back(std::make_unique<fb::SegmentT>());
  state.segments[0]->name = name;
  state.segments[0]->shape = {elements};
  return state;
}

void addPort(std::vector<std::unique_ptr<fb::PortT>> &ports, const char *name, unsigned region, bool isSplit) {
  ports.push_back(std::make_unique<fb::PortT>());
  fb::PortT &port = *ports.back();
  port.name = name;
  port.shape = {16};
  port.region = static_cast<uint16_t>(region);
  port.batch_dim = isSplit ? 0 : -1;
  if (isSplit)
    port.split_axes = {0};
}

void addFill(PlanBuilder &builder, fb::ProgramT &program, unsigned region, int64_t pattern, uint64_t offset = 0) {
  builder.add(program, Opcode::Fill, 0, {PlanBuilder::buffer(region, offset, 64, Access::write)}, {pattern, 4});
}

// Calls

// Kind a calls x, which meets kind b, in `calls` calls of `times` runs. Kind b calls w twice, which calls x four times.
std::string meetings(int calls, int64_t times) {
  std::vector<PlanBuilder> kinds = twoKinds();
  for (size_t i = 0; i < 2; ++i) {
    PlanBuilder &kind = kinds[i];
    unsigned transient = kind.region("transient", fb::RegionKind::transient, 64);
    unsigned staging = kind.region("communication", fb::RegionKind::communication, 64);
    int64_t group = kind.group({0});
    fb::ProgramT &x = kind.program("x", 0, false);
    addFill(kind, x, transient, 0);
    kind.add(x, Opcode::AllReduce, 0,
             {PlanBuilder::buffer(transient, 0, 64), PlanBuilder::buffer(staging, 0, 32, Access::write)},
             {group, kF32, 0, 0, 16});
    kind.add(kind.program("w", 0, false), Opcode::Call, 0, {}, {0, 4, 0, 0});
    fb::ProgramT &step = kind.program("train_step");
    for (int call = 0; call < (i == 0 ? calls : 1); ++call)
      kind.add(step, Opcode::Call, 0, {},
               i == 0 ? std::vector<int64_t>{0, times, 0, 0} : std::vector<int64_t>{1, 2, 0, 0});
  }
  return findingsOfKinds(std::move(kinds));
}

TEST(AnyNumbers, KindsMeetEquallyOften) {
  EXPECT_EQ(meetings(2, 4), "");
  EXPECT_EQ(ruleOf(meetings(2, 8)), "collective-match"); // 16 and 8, of which six are run on both
  EXPECT_EQ(ruleOf(meetings(2, 3)), "collective-match");
}

// Both kinds add to the same parameter.
std::string additions(int64_t ofA, int64_t ofB) {
  std::vector<PlanBuilder> kinds = twoKinds();
  for (size_t i = 0; i < 2; ++i) {
    PlanBuilder &kind = kinds[i];
    unsigned persistent = kind.region("persistent", fb::RegionKind::persistent, 64);
    addState(kind, "weight", fb::Role::parameter, persistent);
    std::vector<fb::Buffer> buffers = {PlanBuilder::buffer(persistent, 0, 64, Access::read),
                                       PlanBuilder::buffer(persistent, 0, 64, Access::write)};
    int64_t increment = kind.generated("increment", buffers, 1, {{1, 0}});
    kind.add(kind.program("x", 0, false), Opcode::Launch, 0, buffers, {increment});
    kind.add(kind.program("train_step"), Opcode::Call, 0, {}, {0, i == 0 ? ofA : ofB, 0, 0});
  }
  return findingsOfKinds(std::move(kinds));
}

TEST(AnyNumbers, KindsCallEquallyOften) {
  EXPECT_EQ(additions(5, 5), "");
  EXPECT_EQ(ruleOf(additions(2, 3)), "replica");
  EXPECT_EQ(ruleOf(additions(5, 7)), "replica");
}

// Replicas

TEST(AnyNumbers, PartsOfAStateAreComparedWhereKindsShareThem) {
  // The state is split over dp. Stage 0 is one kind, and stage 1 is two: each has a replica of a part of stage 0.
  auto found = [](bool areApart, int64_t ofOthers) {
    std::vector<std::vector<Range>> places = {{{0, 0, 1}}, {{0, 1, 2}}};
    if (areApart)
      places = {{{0, 0, 1}}, {{0, 1, 2}, {1, 0, 1}}, {{0, 1, 2}, {1, 1, 2}}};
    std::vector<PlanBuilder> kinds = kindsAt({{"pp", 2}, {"dp", 2}}, places);
    for (size_t i = 0; i < kinds.size(); ++i) {
      unsigned persistent = kinds[i].region("persistent", fb::RegionKind::persistent, 64);
      addState(kinds[i], "s", fb::Role::parameter, persistent, 0, 32).split_axes = {1};
      addFill(kinds[i], kinds[i].program("train_step"), persistent, i == 0 ? 1 : ofOthers);
    }
    return findingsOfKinds(std::move(kinds));
  };
  EXPECT_EQ(found(false, 1), "");
  EXPECT_EQ(found(true, 1), "");
  EXPECT_EQ(ruleOf(found(false, 2)), "replica");
  EXPECT_EQ(ruleOf(found(true, 2)), "replica");
}

TEST(AnyNumbers, TermsOfAStateAreComparedWhereKindsShareThem) {
  auto found = [](int64_t ofB) {
    std::vector<PlanBuilder> kinds = kindsAt({{"pp", 2}, {"dp", 2}}, {{{0, 0, 1}}, {{0, 1, 2}}});
    for (size_t i = 0; i < 2; ++i) {
      unsigned persistent = kinds[i].region("persistent", fb::RegionKind::persistent, 64);
      addState(kinds[i], "p", fb::Role::gradient, persistent).partial_axes = {1};
      addFill(kinds[i], kinds[i].program("train_step"), persistent, i == 0 ? 1 : ofB);
    }
    return findingsOfKinds(std::move(kinds));
  };
  EXPECT_EQ(found(1), "");
  EXPECT_EQ(ruleOf(found(2)), "replica");
}

// A kind's ranks write their coordinates into a parameter, which other kinds do not have.
TEST(AnyNumbers, RanksOfOneKindHaveReplicas) {
  for (bool areOthersApart : {false, true}) {
    std::vector<std::vector<Range>> places = {{{0, 0, 1}}, {{0, 1, 2}}};
    if (areOthersApart)
      places = {{{0, 0, 1}}, {{0, 1, 2}, {1, 0, 1}}, {{0, 1, 2}, {1, 1, 2}}};
    std::vector<PlanBuilder> kinds = kindsAt({{"pp", 2}, {"dp", 2}}, places);
    for (size_t i = 0; i < kinds.size(); ++i) {
      unsigned persistent = kinds[i].region("persistent", fb::RegionKind::persistent, 128);
      fb::ProgramT &step = kinds[i].program("train_step");
      if (i != 0)
        continue;
      addState(kinds[i], "weight", fb::Role::parameter, persistent);
      fb::StateT &rank = addState(kinds[i], "rank", fb::Role::coordinate, persistent, 64);
      rank.segments[0]->init = fb::InitKind::coordinate;
      rank.segments[0]->axis = 1;
      kinds[i].add(step, Opcode::Copy, 0,
                   {PlanBuilder::buffer(persistent, 0, 64, Access::write),
                    PlanBuilder::buffer(persistent, 64, 64, Access::read)},
                   {});
    }
    EXPECT_EQ(ruleOf(findingsOfKinds(std::move(kinds))), "replica") << areOthersApart;
  }
}

TEST(AnyNumbers, WholeOutputsAreReplicas) {
  for (bool isWhole : {false, true}) {
    PlanBuilder plan({{"dp", 2}});
    plan.plan.data_axes = {0};
    plan.plan.batch = 16;
    unsigned input = plan.region("input", fb::RegionKind::input, 64);
    unsigned output = plan.region("output", fb::RegionKind::output, 64);
    fb::ProgramT &infer = plan.program("infer");
    addPort(infer.inputs, "x", input, true);
    addPort(infer.outputs, "y", output, !isWhole);
    plan.add(infer, Opcode::Copy, 0,
             {PlanBuilder::buffer(output, 0, 64, Access::write), PlanBuilder::buffer(input, 0, 64, Access::read)}, {});
    EXPECT_EQ(ruleOf(findingsOf(plan)), isWhole ? "replica" : "");
  }
  for (int64_t ofB : {1, 2}) {
    std::vector<PlanBuilder> kinds = twoKinds();
    for (size_t i = 0; i < 2; ++i) {
      unsigned output = kinds[i].region("output", fb::RegionKind::output, 64);
      fb::ProgramT &infer = kinds[i].program("infer");
      addPort(infer.outputs, "y", output, false);
      addFill(kinds[i], infer, output, i == 0 ? 1 : ofB);
    }
    EXPECT_EQ(ruleOf(findingsOfKinds(std::move(kinds))), ofB == 1 ? "" : "replica");
  }
}

// Names

// A group over axes a and b has four ranks, and a group over an axis called "a:2,b" has two.
TEST(AnyNumbers, NamesOfAxesDoNotJoin) {
  std::vector<PlanBuilder> kinds = kindsAt({{"pp", 2}, {"a", 2}, {"b", 2}, {"a:2,b", 2}}, {{{0, 0, 1}}, {{0, 1, 2}}});
  for (size_t i = 0; i < 2; ++i) {
    PlanBuilder &kind = kinds[i];
    unsigned persistent = kind.region("persistent", fb::RegionKind::persistent, 64);
    unsigned staging = kind.region("communication", fb::RegionKind::communication, 64);
    addState(kind, "sum", fb::Role::parameter, persistent);
    int64_t group = kind.group(i == 0 ? std::vector<uint32_t>{1, 2} : std::vector<uint32_t>{3});
    kind.add(kind.program("train_step"), Opcode::AllReduce, 0,
             {PlanBuilder::buffer(persistent, 0, 64), PlanBuilder::buffer(staging, 0, 64, Access::write)},
             {group, kF32, 0, 0, 16});
  }
  EXPECT_NE(findingsOfKinds(std::move(kinds)), "");
}

// Bytes without a value

TEST(AnyNumbers, AStateKeepsAValue) {
  for (bool isStaging : {false, true}) { // the parameter, or memory of its own, is the staging of an all-reduce
    PlanBuilder plan({{"dp", 2}});
    unsigned persistent = plan.region("persistent", fb::RegionKind::persistent, 128);
    unsigned staging = plan.region("communication", fb::RegionKind::communication, 64);
    addState(plan, "sum", fb::Role::scalar, persistent);
    addState(plan, "weight", fb::Role::parameter, persistent, 64);
    int64_t group = plan.group({0});
    plan.add(plan.program("train_step"), Opcode::AllReduce, 0,
             {PlanBuilder::buffer(persistent, 0, 64),
              PlanBuilder::buffer(isStaging ? persistent : staging, isStaging ? 64 : 0, 64, Access::write)},
             {group, kF32, 0, 0, 16});
    std::string found = findingsOf(plan);
    EXPECT_EQ(found.find("state: state 'weight' has no value") != std::string::npos, isStaging) << found;
    EXPECT_EQ(found.empty(), !isStaging) << found;
  }
}

// Without a value, a share is no more than a whole.
TEST(AnyNumbers, ScratchHasNoValue) {
  for (bool isShare : {false, true}) {
    PlanBuilder plan({{"dp", 2}});
    unsigned persistent = plan.region("persistent", fb::RegionKind::persistent, 1024);
    unsigned transient = plan.region("transient", fb::RegionKind::transient, 4096);
    fb::StateT &state = addState(plan, "m", fb::Role::optimizer, persistent, 0, 512);
    state.slot = "exp_avg";
    state.split_axes = {0};
    auto share = static_cast<uint16_t>(isShare ? plan.group({0}) + 1 : 0);
    int64_t product = plan.kernel(fb::KernelKind::library, "matmul", {kF32, kF32, 1, 1, 1, 4, 4, 4, 0, 0, 0});
    plan.plan.kernels.back()->scratch = 1024;
    auto region = static_cast<uint16_t>(transient);
    uint64_t stride = isShare ? 1024 : 0;
    std::vector<fb::Buffer> copied = {{1024, 1024, region, Access::read, share, 0, stride},
                                      PlanBuilder::buffer(persistent, 0, 1024, Access::write)};
    int64_t copy = plan.generated("f", copied);
    fb::ProgramT &step = plan.program("train_step");
    plan.add(step, Opcode::Fill, 0, {PlanBuilder::buffer(transient, 0, 128, Access::write)}, {0, 4});
    plan.add(step, Opcode::Launch, 0,
             {PlanBuilder::buffer(transient, 0, 64, Access::read), PlanBuilder::buffer(transient, 64, 64, Access::read),
              PlanBuilder::buffer(transient, 128, 64, Access::write),
              fb::Buffer(1024, 1024, region, Access::write, share, 0, stride)},
             {product});
    plan.add(step, Opcode::Launch, 0, copied, {copy});
    EXPECT_EQ(ruleOf(findingsOf(plan)), "uninitialized") << isShare;
  }
}

// What an all-gather of a share leaves would reach into the next state.
TEST(AnyNumbers, PartsAreGatheredFromOneRange) {
  PlanBuilder plan({{"dp", 2}, {"tp", 2}});
  unsigned persistent = plan.region("persistent", fb::RegionKind::persistent, 192);
  fb::StateT &gradient = addState(plan, "d", fb::Role::gradient, persistent, 0, 32);
  gradient.partial_axes = {1};
  addState(plan, "s", fb::Role::parameter, persistent, 128);
  int64_t group = plan.group({1});
  fb::Buffer data(0, 64, static_cast<uint16_t>(persistent), Access::read_write, static_cast<uint16_t>(group + 1), 0,
                  64);
  plan.add(plan.program("train_step"), Opcode::AllGather, 0, {data}, {group, kF32, 0, 16});
  EXPECT_NE(findingsOf(plan).find("part: "), std::string::npos) << findingsOf(plan);
}

// The host

TEST(AnyNumbers, OutputsOfProgramsAreApart) {
  for (uint64_t place : {0, 64}) {
    PlanBuilder plan({{"dp", 1}});
    plan.plan.data_axes = {0};
    plan.plan.batch = 16;
    unsigned output = plan.region("output", fb::RegionKind::output, 128);
    for (const char *name : {"infer", "evaluate"}) {
      uint64_t offset = std::string(name) == "infer" ? 0 : place;
      fb::ProgramT &program = plan.program(name);
      addPort(program.outputs, name, output, true);
      program.outputs[0]->offset = offset;
      addFill(plan, program, output, 7, offset);
    }
    EXPECT_EQ(ruleOf(findingsOf(plan)), place == 0 ? "port" : "");
  }
}

TEST(AnyNumbers, InputsAreReadInFramesThatAreFed) {
  for (int16_t frame : {0, 2}) {
    PlanBuilder plan({{"dp", 1}});
    plan.plan.data_axes = {0};
    plan.plan.batch = 16;
    plan.plan.micro_batches = 4;
    unsigned input = plan.region("input", fb::RegionKind::input, 64, 4);
    unsigned output = plan.region("output", fb::RegionKind::output, 64);
    fb::ProgramT &infer = plan.program("infer");
    addPort(infer.inputs, "x", input, true);
    addPort(infer.outputs, "y", output, true);
    fb::Buffer source(0, 64, static_cast<uint16_t>(input), Access::read, 0, frame, 0);
    plan.add(infer, Opcode::Copy, 0, {PlanBuilder::buffer(output, 0, 64, Access::write), source}, {});
    EXPECT_EQ(ruleOf(findingsOf(plan)), frame == 0 ? "" : "frame");
  }
}

// Two streams record one event of the plan. A wait counts records, and takes the one for the other.
TEST(AnyNumbers, RecordsOfAnEventAreOrdered) {
  for (bool isOrdered : {true, false}) {
    PlanBuilder plan;
    plan.plan.streams = {"s1", "s2"};
    plan.plan.events = {fb::Event(1, fb::Counter::micro_batch)};
    fb::ProgramT &step = plan.program("train_step", 1);
    const int64_t own = 0, shared = 1;
    plan.add(step, Opcode::Record, 0, {}, {shared, 0});
    plan.add(step, Opcode::Record, 0, {}, {own, 0});
    if (isOrdered)
      plan.add(step, Opcode::Wait, 1, {}, {own, 0});
    plan.add(step, Opcode::Record, 1, {}, {shared, 0});
    EXPECT_EQ(ruleOf(findingsOf(plan)), isOrdered ? "" : "event");
  }
}

} // namespace
} // namespace cleave::plan

// Two kinds of ranks that match, a parameter server and its workers, and what the verifier finds if they do not match.
#include "compiler/Planning/Verify/PlanVerifier.h"

#include "runtime/plan/KernelFacts.h"
#include "runtime/plan/Opcode.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"
#include "test/runtime/device/PlanBuilder.h"

#include <gtest/gtest.h>

#include <functional>

namespace cleave::plan {
namespace {

namespace fb = rt::fb;
using rt::Opcode;
using rt::test::PlanBuilder;

constexpr uint64_t kParameter = 0, kGradient = 64, kMomentum = 128, kNorm = 192;
constexpr uint8_t kCompute = 0, kReduce = 1;

struct Region {
  uint16_t persistent, input, staging;
};

// Both kinds compute a gradient, which is reduced to the server. All ranks get its new parameter. With `isServer`, the
// kind also has the momentum and the update.
std::unique_ptr<fb::PlanT> makeKind(bool isServer) {
  PlanBuilder builder({{"dp", 4}});
  Region region{static_cast<uint16_t>(builder.region("persistent", fb::RegionKind::persistent, 256)),
                static_cast<uint16_t>(builder.region("input", fb::RegionKind::input, 64)),
                static_cast<uint16_t>(builder.region("communication", fb::RegionKind::communication, 16))};
  fb::PlanT &plan = builder.plan;
  plan.kind = isServer ? "server" : "worker";
  plan.where.push_back(std::make_unique<fb::AxisRangeT>());
  plan.where.back()->begin = isServer ? 0 : 1;
  plan.where.back()->end = isServer ? 1 : 4;
  builder.state("w", fb::DType::f32, 16, region.persistent, kParameter);
  builder.state("g", fb::DType::f32, 16, region.persistent, kGradient).role = fb::Role::gradient;
  plan.states.back()->partial_axes = {0};
  if (isServer)
    builder.state("m", fb::DType::f32, 16, region.persistent, kMomentum).role = fb::Role::optimizer;
  builder.state("norm", fb::DType::f32, 16, region.persistent, kNorm).role = fb::Role::scalar;
  int64_t group = builder.group({0});

  fb::ProgramT &program = builder.program("train_step", 3);
  auto port = std::make_unique<fb::PortT>();
  port->name = "x";
  port->shape = {16};
  port->region = region.input;
  port->batch_dim = 0;
  port->split_axes = plan.data_axes = {0};
  program.inputs.push_back(std::move(port));
  auto buffer = [](uint16_t region, uint64_t offset, uint64_t bytes, fb::Access access) {
    return fb::Buffer(offset, bytes, region, access, 0, 0, 0);
  };
  auto add = [&](Opcode op, uint8_t stream, std::vector<fb::Buffer> buffers, std::vector<int64_t> fields) {
    program.instructions.push_back(std::make_unique<fb::InstructionT>());
    program.instructions.back()->op = static_cast<uint16_t>(op);
    program.instructions.back()->stream = stream;
    program.instructions.back()->buffers = std::move(buffers);
    program.instructions.back()->fields = std::move(fields);
    program.instructions.back()->fields.resize(rt::opcodeInfo(static_cast<unsigned>(op))->fields.size());
  };
  auto read = fb::Access::read, write = fb::Access::write, both = fb::Access::read_write;
  uint16_t s = region.persistent;
  fb::Buffer parameter = buffer(s, kParameter, 64, both), gradient = buffer(s, kGradient, 64, read);
  fb::Buffer momentum = buffer(s, kMomentum, 64, both), norm = buffer(s, kNorm, 64, both);
  std::vector<fb::Buffer> ofBackward = {buffer(s, kParameter, 64, read), buffer(region.input, 0, 64, read),
                                        buffer(s, kGradient, 64, write)};
  int64_t backward = builder.generated("backward", ofBackward);
  int64_t update = builder.generated("update", {gradient, momentum, parameter});
  int64_t count = builder.generated("count", {norm});
  builder.generated("count_otherwise", {norm});
  builder.generated("count_gradient", {gradient, norm});
  add(Opcode::Launch, kCompute, ofBackward, {backward});
  add(Opcode::Record, kCompute, {}, {0});
  add(Opcode::Wait, kReduce, {}, {0});
  add(Opcode::Reduce, kReduce, {buffer(s, kGradient, 64, both), buffer(region.staging, 0, 16, write)},
      {group, 0, 0, 0, 16, 0});
  add(Opcode::Record, kReduce, {}, {1});
  add(Opcode::Wait, kCompute, {}, {1});
  if (isServer)
    add(Opcode::Launch, kCompute, {gradient, momentum, parameter}, {update});
  add(Opcode::Launch, kCompute, {norm}, {count}); // all ranks compute the same
  add(Opcode::Record, kCompute, {}, {2});
  add(Opcode::Wait, kReduce, {}, {2});
  add(Opcode::Broadcast, kReduce, {buffer(s, kParameter, 64, isServer ? read : write)}, {group, 0, 0, 16, 0});
  return std::make_unique<fb::PlanT>(std::move(plan));
}

struct Kinds {
  std::unique_ptr<fb::PlanT> server = makeKind(true), worker = makeKind(false);
  fb::ProgramT &of(bool isServer) { return *(isServer ? server : worker)->programs[0]; }

  const fb::Plan &pack() {
    for (fb::PlanT *kind : {server.get(), worker.get()})
      for (auto &kernel : kind->kernels)
        if (kernel->kind == fb::KernelKind::generated)
          kernel->facts = rt::KernelFacts::of(*kernel).hash();
    server->kinds.clear();
    server->kinds.push_back(std::make_unique<fb::PlanT>(*worker));
    fb::FinishPlanBuffer(builder, fb::Plan::Pack(builder, server.get()));
    return *fb::GetPlan(builder.GetBufferPointer());
  }
  // The findings for a plan that the runtime accepts.
  std::string findings() {
    const fb::Plan &plan = pack();
    const fb::Plan *opened = nullptr;
    if (rt::Status status = rt::openPlan(builder.GetBufferPointer(), builder.GetSize(), &opened); !status.isOk())
      return "refused: " + status.message();
    std::string text;
    for (const Finding &finding : verifyPlan(plan, Check::ButStated))
      text += finding.rule + ": " + finding.text + "\n";
    return text;
  }

private:
  flatbuffers::FlatBufferBuilder builder;
};

std::string mutated(const std::function<void(Kinds &)> &mutate) {
  Kinds kinds;
  mutate(kinds);
  return kinds.findings();
}

void drop(fb::ProgramT &program, Opcode op, size_t which = 0) {
  auto &list = program.instructions;
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i]->op == static_cast<uint16_t>(op) && which-- == 0)
      return (void)list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
}

fb::InstructionT &last(fb::ProgramT &program) { return *program.instructions.back(); }

::testing::AssertionResult contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos ? ::testing::AssertionSuccess()
                                              : ::testing::AssertionFailure() << "no '" << part << "' in:\n"
                                                                              << text;
}

TEST(Kinds, FitTogether) { EXPECT_EQ(Kinds().findings(), ""); }

TEST(Kinds, MeetInTheSameCollectives) {
  EXPECT_TRUE(contains(mutated([](Kinds &k) { drop(k.of(false), Opcode::Broadcast); }), "collective-match"));
  EXPECT_TRUE(contains(mutated([](Kinds &k) { last(k.of(false)).fields[3] = 8; }), "refused")); // data of another size
  EXPECT_TRUE(contains(mutated([](Kinds &k) { last(k.of(true)).fields[4] = 1; }), "root"));
}

TEST(Kinds, ABroadcastMakesReplicasEqual) {
  std::string text = mutated([](Kinds &k) {
    drop(k.of(true), Opcode::Broadcast);
    drop(k.of(false), Opcode::Broadcast);
  });
  EXPECT_TRUE(contains(text, "replica: state 'w' is one for kinds 'server' and 'worker'"));
}

TEST(Kinds, WhatIsBroadcastMustReachTheState) {
  std::string text =
      mutated([](Kinds &k) { last(k.of(false)).buffers[0] = {kNorm, 64, 0, fb::Access::write, 0, 0, 0}; });
  EXPECT_TRUE(contains(text, "replica: state 'w' is one for kinds 'server' and 'worker'"));
  EXPECT_TRUE(contains(text, "state 'norm'"));
}

TEST(Kinds, WhatAllComputeAlikeAllMustCompute) {
  // The worker counts twice, or not at all, or with another kernel.
  auto count = [](Kinds &k) -> fb::InstructionT & { return *k.of(false).instructions[6]; };
  EXPECT_TRUE(contains(mutated([&](Kinds &k) { drop(k.of(false), Opcode::Launch, 1); }), "state 'norm'"));
  EXPECT_TRUE(contains(mutated([&](Kinds &k) { count(k).fields[0] = 3; }), "state 'norm'"));
}

TEST(Kinds, OnlyTheRootHasWhatIsReduced) {
  std::string text = mutated([](Kinds &k) {
    // The worker reads its gradient after the reduce.
    fb::InstructionT &count = *k.of(false).instructions[6];
    count.buffers.insert(count.buffers.begin(), fb::Buffer(kGradient, 64, 0, fb::Access::read, 0, 0, 0));
    count.fields[0] = 4;
  });
  EXPECT_TRUE(contains(text, "uninitialized: kind 'worker'"));
}

// Two kinds along dp add up the state w and what is at the same place on the other kind: its rank's coordinate along x.
// The first kind leaves the sum in w, or in an output.
std::string findingsOfSum(bool addsCoordinate, bool isOutput) {
  auto make = [&](unsigned begin) {
    PlanBuilder builder({{"dp", 2}, {"x", 2}});
    unsigned persistent = builder.region("persistent", fb::RegionKind::persistent, 128);
    unsigned sum = builder.region("communication", fb::RegionKind::communication, 128);
    builder.plan.kind = begin == 0 ? "first" : "second";
    builder.plan.where.push_back(std::make_unique<fb::AxisRangeT>());
    builder.plan.where[0]->begin = begin;
    builder.plan.where[0]->end = begin + 1;
    fb::StateT &state = builder.state(begin == 0 ? "w" : "rank", fb::DType::i64, 1, persistent);
    state.role = begin == 0 ? fb::Role::parameter : fb::Role::coordinate;
    state.segments.push_back(std::make_unique<fb::SegmentT>());
    state.segments[0]->name = state.name;
    state.segments[0]->init = begin == 0 ? fb::InitKind::zeros : fb::InitKind::coordinate;
    state.segments[0]->axis = 1;
    auto read = fb::Access::read, write = fb::Access::write;
    unsigned left = isOutput ? builder.region("output", fb::RegionKind::output, 64) : persistent;
    fb::ProgramT &step = builder.program(isOutput ? "infer" : "train_step");
    if (isOutput) {
      step.outputs.push_back(std::make_unique<fb::PortT>());
      step.outputs[0]->name = "y";
      step.outputs[0]->dtype = fb::DType::i64;
      step.outputs[0]->shape = {1};
      step.outputs[0]->batch_dim = -1;
      step.outputs[0]->absent = begin != 0;
      step.outputs[0]->region = static_cast<uint16_t>(begin == 0 ? left : 0);
    }
    builder.add(step, Opcode::Fill, 0, {builder.buffer(sum, 0, 16, write)}, {1, 4});
    if (begin == 0 || addsCoordinate)
      builder.add(step, Opcode::Copy, 0, {builder.buffer(sum, 0, 8, write), builder.buffer(persistent, 0, 8, read)},
                  {});
    builder.add(step, Opcode::AllReduce, 0, {builder.buffer(sum, 0, 16), builder.buffer(sum, 64, 8, write)},
                {builder.group({0}), int64_t(fb::DType::i64), 0, 0, 2});
    if (begin == 0)
      builder.add(step, Opcode::Copy, 0, {builder.buffer(left, 0, 8, write), builder.buffer(sum, 0, 8, read)}, {});
    return std::make_unique<fb::PlanT>(builder.plan);
  };
  Kinds kinds;
  kinds.server = make(0);
  kinds.worker = make(1);
  return kinds.findings();
}

TEST(Kinds, TheirSumsDifferAsTheirTermsDo) {
  for (bool isOutput : {false, true}) {
    EXPECT_EQ(findingsOfSum(false, isOutput), "");
    std::string what = isOutput ? "output 'y'" : "state 'w'";
    EXPECT_TRUE(
        contains(findingsOfSum(true, isOutput), "replica: kind 'first': " + what + " is the same on all ranks of x"));
  }
}

TEST(Kinds, AKindIsTheRootOrNot) {
  std::string text = mutated([](Kinds &k) {
    k.server->where[0]->end = 2;
    k.worker->where[0]->begin = 2;
  });
  EXPECT_TRUE(contains(text, "kind: kind 'server'"));
}

TEST(Kinds, PartTheMesh) {
  EXPECT_TRUE(contains(mutated([](Kinds &k) { k.worker->where[0]->begin = 2; }), "make up 3 of 4 ranks"));
  EXPECT_TRUE(contains(mutated([](Kinds &k) { k.worker->where[0]->begin = 0; }), "in common"));
  EXPECT_TRUE(contains(mutated([](Kinds &k) { k.worker->where[0]->end = 5; }), "a range that is empty or on no axis"));
  EXPECT_TRUE(contains(mutated([](Kinds &k) { k.worker->states[0]->elements = 8; }), "another state 'w'"));
  EXPECT_TRUE(contains(mutated([](Kinds &k) { k.worker->programs[0]->inputs[0]->shape = {8}; }),
                       "with the ports of kind 'server'"));
}

TEST(Kinds, CallTheSameCollectivesAsOften) {
  auto addCalls = [](fb::PlanT &plan, int64_t times) {
    auto both = fb::Access::read_write;
    plan.programs.push_back(std::make_unique<fb::ProgramT>());
    plan.programs.back()->name = "micro";
    PlanBuilder::add(*plan.programs.back(), Opcode::AllReduce, kCompute,
                     {PlanBuilder::buffer(0, kNorm, 64, both), PlanBuilder::buffer(2, 0, 16, fb::Access::write)},
                     {0, 0, 0, 0, 16});
    PlanBuilder::add(*plan.programs[0], Opcode::Call, kCompute, {}, {1, times, 0});
  };
  auto calls = [&](int64_t server, int64_t worker) {
    return mutated([&](Kinds &k) {
      addCalls(*k.server, server);
      addCalls(*k.worker, worker);
    });
  };
  EXPECT_EQ(calls(4, 4), "");
  EXPECT_TRUE(contains(calls(4, 3), "how often it is called")); // both numbers are above what is executed
  EXPECT_TRUE(contains(calls(2, 1), "collective-match"));
}

// Both kinds make nine of the runs that are examined, in calls of twelve in all. The server makes 36 and the worker 12.
TEST(Kinds, CallTheSameCollectivesInTheSameCalls) {
  auto addBody = [](fb::PlanT &plan, const char *name) -> fb::ProgramT & {
    plan.programs.push_back(std::make_unique<fb::ProgramT>());
    plan.programs.back()->name = name;
    return *plan.programs.back();
  };
  auto addMeeting = [&](fb::PlanT &plan) {
    PlanBuilder::add(addBody(plan, "micro"), Opcode::AllReduce, kCompute,
                     {PlanBuilder::buffer(0, kNorm, 64, fb::Access::read_write),
                      PlanBuilder::buffer(2, 0, 16, fb::Access::write)},
                     {0, 0, 0, 0, 16});
  };
  auto addCall = [](fb::ProgramT &program, int64_t callee, int64_t times) {
    PlanBuilder::add(program, Opcode::Call, kCompute, {}, {callee, times, 0});
  };
  std::string found = mutated([&](Kinds &k) {
    addMeeting(*k.server);
    for (int i = 0; i < 3; ++i)
      addCall(*k.server->programs[0], 1, 12);
    addMeeting(*k.worker);
    addCall(addBody(*k.worker, "some"), 1, 4);
    addCall(*k.worker->programs[0], 2, 3);
  });
  EXPECT_TRUE(contains(found, "which differs in"));
}

// If only one kind runs a body more often than its runs are examined one by one, the proof of that kind needs its
// statement.
TEST(Kinds, ProveTheBodiesOfEachKind) {
  auto addCounts = [](fb::PlanT &plan, int64_t times) {
    plan.programs.push_back(std::make_unique<fb::ProgramT>());
    plan.programs.back()->name = "count_on";
    fb::Buffer norm = PlanBuilder::buffer(0, kNorm, 64, fb::Access::read_write);
    PlanBuilder::add(*plan.programs.back(), Opcode::Launch, kCompute, {norm}, {2});
    PlanBuilder::add(*plan.programs[0], Opcode::Call, kCompute, {}, {1, times, 0});
  };
  auto repeated = [&](int64_t server, int64_t worker, bool workerHasIt) {
    Kinds kinds;
    addCounts(*kinds.server, server);
    if (workerHasIt)
      addCounts(*kinds.worker, worker);
    std::string all;
    for (const Finding &finding : verifyPlan(kinds.pack(), Check::All))
      all += finding.text + "\n";
    return all;
  };
  EXPECT_TRUE(contains(repeated(0, 9, true), "count_on does not state what it leaves"));
  EXPECT_TRUE(contains(repeated(9, 0, true), "count_on does not state what it leaves"));
  EXPECT_FALSE(contains(repeated(2, 2, true), "count_on does not state what it leaves"));
  EXPECT_TRUE(contains(repeated(9, 0, false), "program 'count_on' is missing on some kinds of ranks"));
}

TEST(Kinds, BeginAStateAlike) {
  auto begin = [](fb::PlanT &plan, fb::InitKind init, const char *name) {
    plan.states[0]->segments.push_back(std::make_unique<fb::SegmentT>());
    plan.states[0]->segments[0]->name = name;
    plan.states[0]->segments[0]->shape = {16};
    plan.states[0]->segments[0]->init = init;
  };
  auto differ = [&](fb::InitKind init, const char *name) {
    return mutated([&](Kinds &k) {
      begin(*k.server, fb::InitKind::weights, "w");
      begin(*k.worker, init, name);
    });
  };
  EXPECT_EQ(differ(fb::InitKind::weights, "w"), "");
  EXPECT_TRUE(contains(differ(fb::InitKind::zeros, "w"), "another state 'w'"));
  EXPECT_TRUE(contains(differ(fb::InitKind::weights, "v"), "another state 'w'"));
}

TEST(Kinds, HaveTheSameEntries) {
  std::string text = mutated([](Kinds &k) {
    k.worker->programs.push_back(std::make_unique<fb::ProgramT>());
    k.worker->programs.back()->name = "evaluate";
    k.worker->programs.back()->entry = true;
  });
  EXPECT_TRUE(contains(text, "kind 'server' has no program 'evaluate'"));
}

// Kinds along dp. Their ranks meet only ranks of their own kind, along tp.
std::string apart(int64_t patternOfB, unsigned collectivesOfB) {
  std::unique_ptr<fb::PlanT> kinds[2];
  for (unsigned at : {0u, 1u}) {
    PlanBuilder builder({{"dp", 2}, {"tp", 2}});
    unsigned persistent = builder.region("persistent", fb::RegionKind::persistent, 64);
    unsigned transient = builder.region("transient", fb::RegionKind::transient, 64);
    unsigned staging = builder.region("communication", fb::RegionKind::communication, 32);
    builder.plan.kind = at == 0 ? "a" : "b";
    builder.plan.where.push_back(std::make_unique<fb::AxisRangeT>());
    builder.plan.where[0]->begin = at;
    builder.plan.where[0]->end = at + 1;
    builder.state("w", fb::DType::f32, 16, persistent);
    int64_t tp = builder.group({1});
    fb::ProgramT &program = builder.program("train_step");
    for (unsigned i = 0; i < (at == 0 ? 1 : collectivesOfB); ++i) {
      unsigned region = i == 0 ? persistent : transient;
      PlanBuilder::add(program, Opcode::Fill, kCompute, {PlanBuilder::buffer(region, 0, 64, fb::Access::write)},
                       {at == 0 || i > 0 ? 0 : patternOfB, 4});
      PlanBuilder::add(program, Opcode::AllReduce, kCompute,
                       {PlanBuilder::buffer(region, 0, 64), PlanBuilder::buffer(staging, 0, 32, fb::Access::write)},
                       {tp, 0, 0, 0, 16});
    }
    kinds[at] = std::make_unique<fb::PlanT>(std::move(builder.plan));
  }
  PlanBuilder all;
  all.plan = std::move(*kinds[0]);
  all.plan.kinds.push_back(std::move(kinds[1]));
  std::string text;
  for (const Finding &finding : verifyPlan(all.open(), Check::ButStated))
    text += finding.rule + ": " + finding.text + "\n";
  return text;
}

TEST(Kinds, MeetOnlyInGroupsOfBoth) {
  EXPECT_EQ(apart(0, 1), "");
  EXPECT_EQ(apart(0, 2), ""); // no rank of the other kind waits for the second
  EXPECT_TRUE(contains(apart(1, 1), "replica: state 'w' is one for kinds 'a' and 'b'"));
}

TEST(Kinds, AreFoundByCoordinates) {
  Kinds kinds;
  const fb::Plan &plan = kinds.pack();
  EXPECT_EQ(rt::kindAt(plan, {0}).kind()->str(), "server");
  for (unsigned rank = 1; rank < 4; ++rank)
    EXPECT_EQ(rt::kindAt(plan, {rank}).kind()->str(), "worker");
  EXPECT_EQ(rt::ranksOfKind(rt::kindAt(plan, {2})), 3u);
  EXPECT_EQ(rt::describeKind(rt::kindAt(plan, {2})), "worker, dp 1 to 3");
  EXPECT_EQ(rt::firstKernel(plan, rt::kindAt(plan, {2})), 5u);
}

} // namespace
} // namespace cleave::plan

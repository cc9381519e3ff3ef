// Tests the oracle with planted bugs, and with edits that change nothing.
#include "test/compiler/Planning/mutation/Oracle.h"

#include "runtime/plan/Opcode.h"

#include <gtest/gtest.h>

namespace cleave::mutation {
namespace {

using rt::Opcode;

constexpr uint16_t kPersistent = 0, kInput = 1, kTransient = 2, kStaging = 3;
constexpr uint8_t kCompute = 0, kReduce = 1, kGather = 2;
constexpr auto kRead = fb::Access::read, kWrite = fb::Access::write, kBoth = fb::Access::read_write;

fb::Buffer at(uint16_t region, uint64_t offset, uint64_t bytes, fb::Access access) {
  return {offset, bytes, region, access, 0, 0, 0};
}
// The rank's half of 64 bytes.
fb::Buffer half(uint16_t region, uint64_t offset, fb::Access access) { return {offset, 32, region, access, 1, 0, 32}; }

fb::Operand operand(uint64_t bytes, uint16_t over, fb::Access access) { return {bytes, over, access, fb::DType::f32}; }

std::unique_ptr<fb::InstructionT> make(Opcode op, uint8_t stream, std::vector<fb::Buffer> buffers,
                                       std::vector<int64_t> fields) {
  auto result = std::make_unique<fb::InstructionT>();
  result->op = static_cast<uint16_t>(op);
  result->stream = stream;
  result->buffers = std::move(buffers);
  result->fields = std::move(fields);
  result->fields.resize(rt::opcodeInfo(result->op)->fields.size());
  return result;
}

void addRegion(fb::PlanT &plan, const char *name, fb::RegionKind kind, uint64_t bytes) {
  plan.regions.push_back(std::make_unique<fb::RegionT>());
  plan.regions.back()->name = name;
  plan.regions.back()->kind = kind;
  plan.regions.back()->bytes = bytes;
}

void addState(fb::PlanT &plan, const char *name, fb::Role role, uint64_t elements, uint64_t offset, bool isSplit) {
  auto state = std::make_unique<fb::StateT>();
  state->name = name;
  state->role = role;
  state->elements = elements;
  state->offset = offset;
  if (isSplit)
    state->split_axes = {0};
  for (uint64_t begin = 0; begin < elements; begin += 8) { // segments of 8 elements, or one shorter
    state->segments.push_back(std::make_unique<fb::SegmentT>());
    state->segments.back()->name = name + std::to_string(begin);
    state->segments.back()->shape = {static_cast<int64_t>(std::min<uint64_t>(8, elements))};
    state->segments.back()->offset = begin;
  }
  plan.states.push_back(std::move(state));
}

void addKernel(fb::PlanT &plan, const char *name, std::vector<fb::Operand> operands) {
  plan.kernels.push_back(std::make_unique<fb::KernelT>());
  plan.kernels.back()->name = name;
  plan.kernels.back()->operands = std::move(operands);
}

// A step of two ranks that share the optimizer's state "m" of the parameter "w":
//   0 launch gradient t <- x, w   1 record 0   2 wait 0   3 reduce_scatter t   4 record 1   5 wait 1
//   6 launch update m, w's half <- t's half, m, w's half   7 record 2   8 wait 2   9 all_gather w   10 record 3
//   11 wait 3   12 launch norm s <- w   13 launch count n <- w
fb::PlanT step() {
  fb::PlanT plan;
  plan.axes.push_back(std::make_unique<fb::AxisT>());
  plan.axes.back()->name = "dp";
  plan.axes.back()->size = 2;
  plan.data_axes = {0};
  plan.streams = {"compute", "reduce", "gather"};
  plan.groups.push_back(std::make_unique<fb::GroupT>());
  plan.groups.back()->axes = {0};
  addRegion(plan, "persistent", fb::RegionKind::persistent, 256);
  addRegion(plan, "input", fb::RegionKind::input, 64);
  addRegion(plan, "transient", fb::RegionKind::transient, 256);
  addRegion(plan, "communication", fb::RegionKind::communication, 64);
  addState(plan, "w", fb::Role::parameter, 16, 0, false);
  addState(plan, "m", fb::Role::optimizer, 16, 64, true);
  addState(plan, "s", fb::Role::scalar, 1, 128, false);
  addState(plan, "n", fb::Role::scalar, 1, 132, false);
  addKernel(plan, "gradient", {operand(64, 0, kRead), operand(64, 0, kRead), operand(64, 0, kWrite)});
  addKernel(plan, "update",
            {operand(32, 0, kRead), operand(32, 0, kRead), operand(32, 0, kRead), operand(32, 2, kWrite),
             operand(32, 3, kWrite)});
  addKernel(plan, "norm", {operand(64, 0, kRead), operand(4, 0, kWrite)});
  addKernel(plan, "count", {operand(64, 0, kRead), operand(4, 0, kWrite)});
  plan.programs.push_back(std::make_unique<fb::ProgramT>());
  fb::ProgramT &program = *plan.programs.back();
  program.name = "train_step";
  program.entry = true;
  program.events = 8;
  program.inputs.push_back(std::make_unique<fb::PortT>());
  program.inputs[0]->name = "x";
  program.inputs[0]->shape = {16};
  program.inputs[0]->region = kInput;
  program.inputs[0]->batch_dim = 0;
  program.inputs[0]->split_axes = {0};
  auto add = [&](auto instruction) { program.instructions.push_back(std::move(instruction)); };
  fb::Buffer w = at(kPersistent, 0, 64, kRead), x = at(kInput, 0, 64, kRead);
  add(make(Opcode::Launch, kCompute, {x, w, at(kTransient, 0, 64, kWrite)}, {0}));
  add(make(Opcode::Record, kCompute, {}, {0}));
  add(make(Opcode::Wait, kReduce, {}, {0}));
  add(make(Opcode::ReduceScatter, kReduce, {at(kTransient, 0, 64, kBoth), at(kStaging, 0, 32, kWrite)},
           {0, 0, 0, 0, 16}));
  add(make(Opcode::Record, kReduce, {}, {1}));
  add(make(Opcode::Wait, kCompute, {}, {1}));
  add(make(Opcode::Launch, kCompute,
           {half(kTransient, 0, kRead), at(kPersistent, 64, 32, kRead), half(kPersistent, 0, kRead),
            at(kPersistent, 64, 32, kWrite), half(kPersistent, 0, kWrite)},
           {1}));
  add(make(Opcode::Record, kCompute, {}, {2}));
  add(make(Opcode::Wait, kGather, {}, {2}));
  add(make(Opcode::AllGather, kGather, {at(kPersistent, 0, 64, kBoth)}, {0, 0, 0, 16}));
  add(make(Opcode::Record, kGather, {}, {3}));
  add(make(Opcode::Wait, kCompute, {}, {3}));
  add(make(Opcode::Launch, kCompute, {w, at(kPersistent, 128, 4, kWrite)}, {2}));
  add(make(Opcode::Launch, kCompute, {w, at(kPersistent, 132, 4, kWrite)}, {3}));
  return plan;
}

class Packed {
public:
  explicit Packed(const fb::PlanT &plan) { fb::FinishPlanBuffer(builder_, fb::Plan::Pack(builder_, &plan)); }
  const fb::Plan &get() const { return *fb::GetPlan(builder_.GetBufferPointer()); }

private:
  flatbuffers::FlatBufferBuilder builder_;
};

Verdict judge(const std::function<void(fb::PlanT &, fb::ProgramT &)> &edit, const fb::PlanT &original = step()) {
  Packed before(original);
  fb::PlanT plan = original;
  edit(plan, *plan.programs[0]);
  Packed after(plan);
  std::unique_ptr<Oracle> oracle;
  EXPECT_EQ(Oracle::open(before.get(), &oracle), "");
  return oracle->judge(after.get());
}

void expectHarmful(const Verdict &verdict, const std::string &part) {
  EXPECT_TRUE(verdict.isHarmful);
  EXPECT_NE(verdict.why.find(part), std::string::npos) << verdict.why;
}
void expectHarmless(const Verdict &verdict) { EXPECT_FALSE(verdict.isHarmful) << verdict.why; }

void drop(fb::ProgramT &program, int index) { program.instructions.erase(program.instructions.begin() + index); }
void insert(fb::ProgramT &program, int index, std::unique_ptr<fb::InstructionT> instruction) {
  program.instructions.insert(program.instructions.begin() + index, std::move(instruction));
}

TEST(Oracle, TakesTheStepAsItIs) {
  expectHarmless(judge([](auto &, auto &) {}));
}

// Planted bugs

TEST(Oracle, SeesEachDroppedWait) {
  for (int wait : {2, 5, 8, 11})
    EXPECT_TRUE(judge([=](auto &, auto &p) { drop(p, wait); }).isHarmful) << wait;
}

TEST(Oracle, SeesARaceThatInIssueOrderHappensToGoWell) {
  expectHarmful(judge([](auto &, auto &p) { drop(p, 2); }), "stream 0 slow");
  expectHarmful(judge([](auto &, auto &p) { drop(p, 11); }), "while train_step[");
}

TEST(Oracle, SeesAStaleRead) {
  // The norm is computed from the parameter before its update.
  expectHarmful(judge([](auto &, auto &p) {
                  auto norm = std::move(p.instructions[12]);
                  drop(p, 12);
                  insert(p, 0, std::move(norm));
                }),
                "state s");
}

TEST(Oracle, SeesDroppedCollectives) {
  expectHarmful(judge([](auto &, auto &p) { drop(p, 3); }), "state");
  expectHarmful(judge([](auto &, auto &p) { drop(p, 9); }), "state");
}

TEST(Oracle, SeesACollectiveTwice) {
  expectHarmful(judge([](auto &, auto &p) { insert(p, 4, std::make_unique<fb::InstructionT>(*p.instructions[3])); }),
                "reduces what nobody wrote");
  expectHarmless(judge([](auto &, auto &p) { insert(p, 10, std::make_unique<fb::InstructionT>(*p.instructions[9])); }));
}

TEST(Oracle, SeesSwappedBuffers) {
  expectHarmful(judge([](auto &, auto &p) { std::swap(p.instructions[0]->buffers[0], p.instructions[0]->buffers[1]); }),
                "state");
}

TEST(Oracle, SeesAnotherReductionTypeAndGroup) {
  expectHarmful(judge([](auto &, auto &p) { p.instructions[3]->fields[2] = 1; }), "state");
  expectHarmful(judge([](auto &, auto &p) { p.instructions[3]->fields[1] = 5; }), "state");
  expectHarmful(judge([](auto &plan, auto &p) {
                  plan.groups.push_back(std::make_unique<fb::GroupT>());
                  p.instructions[9]->fields[0] = 1; // a group of each rank alone
                }),
                "state");
  // A gather moves bytes, so the type does not matter.
  expectHarmless(judge([](auto &, auto &p) { p.instructions[9]->fields[1] = 5; }));
}

TEST(Oracle, SeesTheShareOfAnotherRank) {
  expectHarmful(judge([](auto &, auto &p) { p.instructions[6]->buffers[0] = at(kTransient, 0, 32, kRead); }),
                "read before");
}

TEST(Oracle, SeesAReadOfWhatNobodyWrote) {
  expectHarmful(judge([](auto &, auto &p) { p.instructions[12]->buffers[0] = at(kTransient, 128, 64, kRead); }),
                "read before");
}

TEST(Oracle, SeesAnAccessOutsideOfARegion) {
  expectHarmful(judge([](auto &plan, auto &) { plan.regions[kTransient]->bytes = 60; }), "outside");
}

TEST(Oracle, SeesAHang) {
  expectHarmful(judge([](auto &, auto &p) { drop(p, 4); }), "hangs at");
}

TEST(Oracle, SeesATableThatIsNotTheCode) {
  expectHarmful(judge([](auto &plan, auto &) { plan.kernels[1]->extent = 2; }), "code does not do");
  expectHarmful(judge([](auto &plan, auto &) { plan.kernels[1]->depends = {1, 1}; }), "code does not do");
}

TEST(Oracle, SeesSegmentsThatMoved) {
  expectHarmful(judge([](auto &plan, auto &) {
                  std::swap(plan.states[0]->segments[0]->offset, plan.states[0]->segments[1]->offset);
                }),
                "state");
  expectHarmful(judge([](auto &plan, auto &) { plan.states[0]->segments[1]->offset = 4; }), "state");
}

TEST(Oracle, SeesAnInputThatIsFedOtherwise) {
  expectHarmful(judge([](auto &, auto &p) { p.inputs[0]->split_axes.clear(); }), "");
}

void setFirstAxis(fb::PlanT &kind, uint32_t coordinate) {
  kind.where.push_back(std::make_unique<fb::AxisRangeT>());
  kind.where.back()->begin = coordinate;
  kind.where.back()->end = coordinate + 1;
}

// Two kinds of ranks issue the collectives of two streams in different orders. They meet if each stream has its own
// thread, and hang if the two streams share one.
fb::PlanT twoKinds(bool secondIsReversed) {
  fb::PlanT plan = step();
  plan.programs[0]->inputs.clear();
  auto collectives = [](fb::PlanT &kind, bool isReversed) {
    auto &list = kind.programs[0]->instructions;
    list.clear();
    for (bool first : {!isReversed, isReversed})
      list.push_back(make(Opcode::AllGather, first ? kReduce : kGather, {at(kPersistent, first ? 0 : 192, 64, kBoth)},
                          {0, 0, 0, 16}));
  };
  addState(plan, "v", fb::Role::parameter, 16, 192, false);
  fb::PlanT other = plan;
  collectives(plan, false);
  collectives(other, secondIsReversed);
  plan.kind = "first";
  setFirstAxis(plan, 0);
  other.kind = "second";
  setFirstAxis(other, 1);
  plan.kinds.push_back(std::make_unique<fb::PlanT>(other));
  return plan;
}

TEST(Oracle, SeesADeadlockAcrossCommunicators) {
  expectHarmful(judge([](auto &plan, auto &) { plan = twoKinds(true); }, twoKinds(false)), "two threads: rank 0 hangs");
}

TEST(Oracle, SeesKindsWhoseCollectivesDoNotMatch) {
  expectHarmful(judge([](auto &plan, auto &) { drop(*plan.kinds[0]->programs[0], 1); }, twoKinds(false)), "hangs");
  expectHarmful(judge(
                    [](auto &plan, auto &) {
                      auto &gather = *plan.kinds[0]->programs[0]->instructions[0];
                      gather.buffers[0] = at(kPersistent, 0, 32, kBoth);
                      gather.fields[3] = 8;
                    },
                    twoKinds(false)),
                "different numbers of bytes");
}

// What must hold for every outcome

// What is wrong with the step after an edit, if it is taken for an original.
std::string problemOf(const std::function<void(fb::PlanT &, fb::ProgramT &)> &edit) {
  fb::PlanT plan = step();
  edit(plan, *plan.programs[0]);
  Packed packed(plan);
  std::unique_ptr<Oracle> oracle;
  return Oracle::open(packed.get(), &oracle);
}

void expectProblem(const std::string &problem, const std::string &part) {
  EXPECT_NE(problem.find(part), std::string::npos) << problem;
}

fb::PortT &addOutput(fb::PlanT &plan, fb::ProgramT &program, const char *name, uint64_t offset, bool isSplit) {
  if (plan.regions.back()->kind != fb::RegionKind::output)
    addRegion(plan, "output", fb::RegionKind::output, 256);
  program.outputs.push_back(std::make_unique<fb::PortT>());
  fb::PortT &port = *program.outputs.back();
  port.name = name;
  port.shape = {16};
  port.region = static_cast<uint16_t>(plan.regions.size() - 1);
  port.offset = offset;
  port.batch_dim = isSplit ? 0 : -1;
  if (isSplit)
    port.split_axes = {0};
  return port;
}

TEST(Oracle, SeesReplicasThatDiffer) {
  auto edit = [](const fb::Buffer &to, const fb::Buffer &from) {
    return [=](auto &, auto &p) { insert(p, 14, make(Opcode::Copy, kCompute, {to, from}, {})); };
  };
  fb::Buffer w = at(kPersistent, 0, 32, kWrite);
  expectProblem(problemOf(edit(w, at(kInput, 0, 32, kRead))), "state w/w0 of rank 1 is not that of rank 0");
  EXPECT_EQ(problemOf(edit(w, at(kPersistent, 32, 32, kRead))), "");
  // Each rank has its own part of m.
  EXPECT_EQ(problemOf(edit(at(kPersistent, 64, 32, kWrite), at(kInput, 0, 32, kRead))), "");
}

TEST(Oracle, SeesReplicasOfOutputsThatDiffer) {
  auto copied = [](bool isSplit) {
    return problemOf([=](auto &plan, auto &p) {
      uint16_t region = addOutput(plan, p, "y", 0, isSplit).region;
      insert(p, 14, make(Opcode::Copy, kCompute, {at(region, 0, 64, kWrite), at(kInput, 0, 64, kRead)}, {}));
    });
  };
  EXPECT_EQ(copied(true), "");
  expectProblem(copied(false), "output y, frame 0 of rank 1 is not that of rank 0");
}

TEST(Oracle, SeesReplicasOfKindsThatDiffer) {
  auto filled = [](int64_t ofSecond) {
    return problemOf([=](auto &plan, auto &) {
      plan = twoKinds(false);
      for (fb::PlanT *kind : {&plan, plan.kinds[0].get()})
        insert(*kind->programs[0], 2,
               make(Opcode::Fill, kCompute, {at(kPersistent, 128, 4, kWrite)}, {kind == &plan ? 1 : ofSecond, 4}));
    });
  };
  EXPECT_EQ(filled(1), "");
  expectProblem(filled(2), "state s/s0 of rank 1 is not that of rank 0");
}

TEST(Oracle, TakesCodeOfOneSymbolForOneKernelOnAllKinds) {
  auto launched = [](const char *symbol) {
    return problemOf([=](auto &plan, auto &) {
      plan = twoKinds(false);
      plan.kinds[0]->kernels[2]->name = symbol;
      for (fb::PlanT *kind : {&plan, plan.kinds[0].get()}) {
        auto &list = kind->programs[0]->instructions;
        list.clear();
        list.push_back(
            make(Opcode::Launch, kCompute, {at(kPersistent, 0, 64, kRead), at(kPersistent, 128, 4, kWrite)}, {2}));
      }
    });
  };
  EXPECT_EQ(launched("norm"), "");
  expectProblem(launched("another"), "state s/s0 of rank 1 is not that of rank 0");
}

TEST(Oracle, SeesAStateAndAnOutputWithoutAValue) {
  expectProblem(problemOf([](auto &plan, auto &p) {
                  addState(plan, "v", fb::Role::parameter, 16, 192, false);
                  p.instructions[3]->buffers[1] = at(kPersistent, 192, 32, kWrite);
                }),
                "state v/v0 of rank 0 has no value");
  expectProblem(problemOf([](auto &plan, auto &p) { addOutput(plan, p, "y", 0, true); }),
                "output y, frame 0 of rank 0 has no value");
}

// A second program, with an output of its own, which fills some bytes.
std::string afterAnother(bool isOwn, const fb::Buffer &filled) {
  return problemOf([=](auto &plan, auto &p) {
    uint16_t region = addOutput(plan, p, "y", 0, true).region;
    insert(p, 14, make(Opcode::Copy, kCompute, {at(region, 0, 64, kWrite), at(kInput, 0, 64, kRead)}, {}));
    auto other = std::make_unique<fb::ProgramT>();
    other->name = "evaluate";
    other->entry = true;
    addOutput(plan, *other, "z", isOwn ? 64 : 0, true);
    for (const fb::Buffer &b : {at(region, isOwn ? 64 : 0, 64, kWrite), filled})
      insert(*other, 0, make(Opcode::Fill, kCompute, {b}, {7, 4}));
    plan.programs.push_back(std::move(other));
  });
}

TEST(Oracle, SeesBytesOfTheHostThatAnotherProgramChanges) {
  fb::Buffer own = at(kTransient, 0, 64, kWrite), input = at(kInput, 0, 64, kWrite);
  EXPECT_EQ(afterAnother(true, own), "");
  expectProblem(afterAnother(false, own), "output y of train_step, frame 0 of rank 0, which the program must leave");
  expectProblem(afterAnother(true, input), "input x of train_step, frame 0 of rank 0, which the program must leave");
}

TEST(Oracle, SeesAReadOfWhatAnotherProgramHasLeft) {
  auto read = [](bool isOther) {
    return problemOf([=](auto &plan, auto &p) {
      auto other = std::make_unique<fb::ProgramT>();
      other->name = "evaluate";
      other->entry = true;
      uint16_t region = addOutput(plan, *other, "z", 0, false).region;
      insert(*other, 0, make(Opcode::Fill, kCompute, {at(region, 0, 64, kWrite)}, {7, 4}));
      plan.programs.push_back(std::move(other));
      fb::Buffer from = isOther ? at(region, 0, 32, kRead) : at(kInput, 0, 32, kRead);
      insert(p, 14, make(Opcode::Copy, kCompute, {at(kPersistent, 64, 32, kWrite), from}, {}));
    });
  };
  EXPECT_EQ(read(false), "");
  expectProblem(read(true), "if the host has something else in the bytes of other programs");
}

TEST(Oracle, SeesFramesThatTheHostDoesNotFeed) {
  auto read = [](const char *name, int16_t frame) {
    return problemOf([=](auto &plan, auto &p) {
      p.name = name;
      plan.micro_batches = 4;
      plan.regions[kInput]->frames = 4;
      uint16_t region = addOutput(plan, p, "y", 0, true).region;
      fb::Buffer from(0, 64, kInput, kRead, 0, frame, 0);
      insert(p, 14, make(Opcode::Copy, kCompute, {at(region, 0, 64, kWrite), from}, {}));
    });
  };
  EXPECT_EQ(read("train_step", 2), ""); // one frame for each micro-batch
  EXPECT_EQ(read("evaluate", 0), "");
  expectProblem(read("evaluate", 2), "output y, frame 0 of rank 0 has no value");
}

// A wait of the reduce stream for a record of a shared event on the compute stream. The gather stream records it, too.
TEST(Oracle, SeesARecordThatIsTakenForAnother) {
  auto recorded = [](bool isLater) {
    return problemOf([=](auto &plan, auto &p) {
      plan.events = {fb::Event(1, fb::Counter::micro_batch)};
      const int64_t shared = p.events;
      p.instructions[1]->fields[0] = p.instructions[2]->fields[0] = shared;
      insert(p, isLater ? 12 : 3, make(Opcode::Record, kGather, {}, {shared}));
    });
  };
  EXPECT_EQ(recorded(true), ""); // after the wait for event 2, and so after the first record
  expectProblem(recorded(false),
                "stream 0 slow: rank 0, train_step[4] reduce_scatter on reduce: it reduces what nobody wrote");
}

// Edits that change nothing

TEST(Oracle, AllowsASecondWait) {
  expectHarmless(judge([](auto &, auto &p) { insert(p, 6, std::make_unique<fb::InstructionT>(*p.instructions[5])); }));
}

TEST(Oracle, AllowsAnotherNote) {
  expectHarmless(judge([](auto &, auto &p) { p.instructions[0]->note = "another"; }));
}

TEST(Oracle, AllowsIndependentInstructionsInAnotherOrder) {
  expectHarmless(judge([](auto &, auto &p) { std::swap(p.instructions[12], p.instructions[13]); }));
}

TEST(Oracle, AllowsTransientBytesElsewhere) {
  expectHarmless(judge([](auto &, auto &p) {
    for (int i : {0, 3, 6})
      for (fb::Buffer &b : p.instructions[static_cast<size_t>(i)]->buffers)
        if (b.region() == kTransient)
          b = fb::Buffer(b.offset() + 64, b.bytes(), b.region(), b.access(), b.share_of(), b.frame(), b.stride());
  }));
}

TEST(Oracle, AllowsACopyThatIsCutInTwo) {
  auto copy = [](fb::PlanT &, fb::ProgramT &p) {
    insert(p, 12, make(Opcode::Copy, kCompute, {at(kTransient, 128, 64, kWrite), at(kPersistent, 0, 64, kRead)}, {}));
    p.instructions[13]->buffers[0] = at(kTransient, 128, 64, kRead);
  };
  auto cut = [&](fb::PlanT &plan, fb::ProgramT &p) {
    copy(plan, p);
    drop(p, 12);
    for (uint64_t begin : {0u, 24u})
      insert(
          p, 12,
          make(Opcode::Copy, kCompute,
               {at(kTransient, 128 + begin, begin ? 40 : 24, kWrite), at(kPersistent, begin, begin ? 40 : 24, kRead)},
               {}));
  };
  fb::PlanT whole = step();
  copy(whole, *whole.programs[0]);
  expectHarmless(judge(
      [&](auto &plan, auto &) {
        plan = step();
        cut(plan, *plan.programs[0]);
      },
      whole));
}

TEST(Oracle, AllowsGarbageInAGradient) {
  // The next step writes a gradient's bytes before it reads them. So their contents do not matter.
  fb::PlanT original = step();
  addState(original, "g", fb::Role::gradient, 1, 140, false);
  expectHarmless(judge(
      [](auto &, auto &p) {
        insert(p, 14, make(Opcode::Fill, kCompute, {at(kPersistent, 140, 4, kWrite)}, {7, 4}));
      },
      original));
}

TEST(Oracle, AllowsGarbageInABufferOfOneStep) {
  // A buffer's copy for one step has a slot, and is in no checkpoint. A buffer without a slot is saved.
  fb::PlanT original = step();
  addState(original, "b", fb::Role::buffer, 1, 140, false);
  auto fill = [](auto &, auto &p) {
    insert(p, 14, make(Opcode::Fill, kCompute, {at(kPersistent, 140, 4, kWrite)}, {7, 4}));
  };
  expectHarmful(judge(fill, original), "state b");
  original.states.back()->slot = "step";
  expectHarmless(judge(fill, original));
}

TEST(Values, AreEqualHoweverTheyWereCut) {
  Piece whole{Hasher("v").id(), 0, 0, 64};
  Bytes joined;
  joined.append(whole.first(20));
  joined.append(whole.from(20));
  EXPECT_EQ(joined.id(), Bytes(whole).id());
  Id sum = Hasher("sum").id();
  Bytes other(Piece{Hasher("u").id(), 128, 0, 64}), zeros = filled(0, 8, 64);
  Bytes parts = elementwise(sum, {joined.slice(0, 24), other.slice(0, 24), zeros.slice(0, 24)});
  parts.append(elementwise(sum, {joined.slice(24, 40), other.slice(24, 40), zeros.slice(24, 40)}));
  EXPECT_EQ(parts.id(), elementwise(sum, {joined, other, zeros}).id());
  EXPECT_NE(parts.id(), elementwise(sum, {other, joined, zeros}).id());
  EXPECT_EQ(filled(0, 1, 8).id(), filled(0, 8, 8).id());
  EXPECT_NE(filled(1, 4, 8).id(), filled(1, 8, 8).id());
}

} // namespace
} // namespace cleave::mutation

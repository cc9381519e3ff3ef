// A good plan, and what the verifier finds if one thing in it is wrong.
#include "compiler/Planning/Verify/PlanVerifier.h"
#include "compiler/Planning/Verify/Rules/DeclaredTypes.h"
#include "compiler/Planning/Verify/Rules/TrainingNames.h"

#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/Opcode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

namespace cleave::plan {
namespace {

namespace fb = rt::fb;
using rt::Opcode;

constexpr uint16_t kState = 0, kInput = 1, kTransient = 2, kStaging = 3;
constexpr uint8_t kCompute = 0, kReduce = 1, kGather = 2;

fb::Buffer buffer(uint16_t region, uint64_t offset, uint64_t bytes, fb::Access access) {
  return {offset, bytes, region, access, 0, 0, 0};
}

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

// The backward pass makes two gradients, each is reduced while the next work runs, and the update reads both:
//   0 copy t <- input     1 launch g1 <- t    2 record 0    3 wait 0 (reduce)    4 all_reduce g1    5 record 1
//   6 launch g2 <- t      7 record 2          8 wait 2 (reduce)    9 all_reduce g2   10 record 3
//   11 wait 3             12 launch w <- g1, g2
fb::PlanT goodPlan() {
  fb::PlanT plan;
  auto axis = std::make_unique<fb::AxisT>();
  axis->name = "dp";
  axis->size = 2;
  plan.axes.push_back(std::move(axis));
  plan.streams = {"compute", "reduce"};
  auto region = [&](const char *name, fb::RegionKind kind, uint64_t bytes) {
    plan.regions.push_back(std::make_unique<fb::RegionT>());
    plan.regions.back()->name = name;
    plan.regions.back()->kind = kind;
    plan.regions.back()->bytes = bytes;
    plan.regions.back()->frames = 1;
  };
  region("persistent", fb::RegionKind::persistent, 384);
  region("input", fb::RegionKind::input, 64);
  region("transient", fb::RegionKind::transient, 128);
  region("communication", fb::RegionKind::communication, 64);
  for (int i = 0; i < 3; ++i) {
    plan.states.push_back(std::make_unique<fb::StateT>());
    plan.states.back()->name = std::string("state") + std::to_string(i);
    plan.states.back()->elements = 16;
    plan.states.back()->region = kState;
    plan.states.back()->offset = 128 * i;
  }
  auto read = fb::Access::read, write = fb::Access::write, both = fb::Access::read_write;
  auto kernel = [&](const char *name, const std::vector<fb::Access> &operands) {
    plan.kernels.push_back(std::make_unique<fb::KernelT>());
    plan.kernels.back()->name = name;
    for (fb::Access access : operands)
      plan.kernels.back()->operands.emplace_back(64, 0, access, fb::DType::f32);
  };
  kernel("k", {read, write});
  kernel("argmax", {});
  plan.kernels.back()->kind = fb::KernelKind::builtin;
  plan.kernels.back()->params = {0, 8, 2, 1};
  kernel("update", {read, read, write});
  plan.groups.push_back(std::make_unique<fb::GroupT>());
  plan.groups.back()->axes = {0};
  plan.programs.push_back(std::make_unique<fb::ProgramT>());
  fb::ProgramT &program = *plan.programs.back();
  program.name = "train_step";
  program.entry = true;
  program.events = 8;
  program.inputs.push_back(std::make_unique<fb::PortT>());
  program.inputs[0]->name = "x";
  program.inputs[0]->shape = {16};
  program.inputs[0]->region = kInput;
  auto add = [&](auto instruction) { program.instructions.push_back(std::move(instruction)); };
  auto reduce = [&](uint64_t at) {
    return make(Opcode::AllReduce, kReduce, {buffer(kState, at, 64, both), buffer(kStaging, 0, 32, write)},
                {0, 0, 0, 0, 16});
  };
  add(make(Opcode::Copy, kCompute, {buffer(kTransient, 0, 64, write), buffer(kInput, 0, 64, read)}, {}));
  add(make(Opcode::Launch, kCompute, {buffer(kTransient, 0, 64, read), buffer(kState, 128, 64, write)}, {0}));
  add(make(Opcode::Record, kCompute, {}, {0}));
  add(make(Opcode::Wait, kReduce, {}, {0}));
  add(reduce(128));
  add(make(Opcode::Record, kReduce, {}, {1}));
  add(make(Opcode::Launch, kCompute, {buffer(kTransient, 0, 64, read), buffer(kState, 256, 64, write)}, {0}));
  add(make(Opcode::Record, kCompute, {}, {2}));
  add(make(Opcode::Wait, kReduce, {}, {2}));
  add(reduce(256));
  add(make(Opcode::Record, kReduce, {}, {3}));
  add(make(Opcode::Wait, kCompute, {}, {3}));
  add(make(Opcode::Launch, kCompute,
           {buffer(kState, 128, 64, read), buffer(kState, 256, 64, read), buffer(kState, 0, 64, write)}, {2}));
  return plan;
}

class Packed {
public:
  explicit Packed(const fb::PlanT &plan) { fb::FinishPlanBuffer(builder, fb::Plan::Pack(builder, &plan)); }
  const fb::Plan &get() const { return *fb::GetPlan(builder.GetBufferPointer()); }

private:
  flatbuffers::FlatBufferBuilder builder;
};

std::vector<Finding> verifyMutated(const std::function<void(fb::PlanT &, fb::ProgramT &)> &mutate) {
  fb::PlanT plan = goodPlan();
  mutate(plan, *plan.programs[0]);
  return verifyPlan(Packed(plan).get(), Check::ButStated);
}

// There must be a finding of that rule that names all of the instructions.
void expectFinding(const std::vector<Finding> &findings, const std::string &rule,
                   const std::vector<std::string> &names) {
  std::string all;
  for (const Finding &finding : findings) {
    all += finding.rule + ": " + finding.text + "\n";
    bool namesAll = finding.rule == rule;
    for (const std::string &name : names)
      namesAll = namesAll && finding.text.find(name) != std::string::npos;
    if (namesAll)
      return;
  }
  ADD_FAILURE() << "no finding of rule " << rule << " that names all; got:\n" << all;
}

void drop(fb::ProgramT &program, size_t index) { program.instructions.erase(program.instructions.begin() + index); }

TEST(PlanVerifier, AcceptsAGoodPlan) {
  for (const Finding &finding : verifyPlan(Packed(goodPlan()).get(), Check::ButStated))
    ADD_FAILURE() << finding.rule << ": " << finding.text;
}

TEST(PlanVerifier, FindsAMissingWaitBeforeACollective) {
  expectFinding(verifyMutated([](auto &, auto &p) { drop(p, 3); }), "race",
                {"[3] all_reduce on reduce", "[1] launch on compute"});
}

TEST(PlanVerifier, FindsAMissingWaitBeforeTheUpdate) {
  expectFinding(verifyMutated([](auto &, auto &p) { drop(p, 11); }), "race",
                {"[11] launch on compute", "[9] all_reduce on reduce"});
}

TEST(PlanVerifier, FindsAnOverwriteWhileAnotherStreamReads) {
  // The second gradient overwrites the first one while it is being reduced.
  expectFinding(verifyMutated([](auto &, auto &p) {
                  p.instructions[6]->buffers[1] = buffer(kState, 128, 64, fb::Access::write);
                }),
                "race", {"[6] launch on compute", "[4] all_reduce on reduce"});
}

TEST(PlanVerifier, FindsAReadOfWhatNobodyWrote) {
  expectFinding(verifyMutated([](auto &, auto &p) { drop(p, 0); }), "uninitialized",
                {"[0] launch on compute", "transient[0, 64)"});
}

TEST(PlanVerifier, LetsOnlyCopiesReachHostMemory) {
  // A state on the host: a launch that writes a gradient there is refused, and so is the collective. A copy is allowed.
  auto addHost = [](fb::PlanT &plan) {
    plan.regions.push_back(std::make_unique<fb::RegionT>());
    plan.regions.back()->name = "host.residual";
    plan.regions.back()->kind = fb::RegionKind::residual;
    plan.regions.back()->bytes = 128;
    plan.regions.back()->frames = 1;
    plan.regions.back()->space = fb::Space::host;
    return static_cast<uint16_t>(plan.regions.size() - 1);
  };
  expectFinding(verifyMutated([&](auto &plan, auto &p) {
                  p.instructions[1]->buffers[0] = buffer(addHost(plan), 0, 64, fb::Access::read);
                }),
                "space", {"[1] launch on compute", "host.residual"});
  expectFinding(verifyMutated([&](auto &plan, auto &p) {
                  p.instructions[4]->buffers[0] = buffer(addHost(plan), 0, 64, fb::Access::read_write);
                }),
                "space", {"[4] all_reduce on reduce", "host.residual"});
  for (const Finding &finding : verifyMutated([&](auto &plan, auto &p) {
         p.instructions.push_back(
             make(Opcode::Copy, kCompute,
                  {buffer(addHost(plan), 0, 64, fb::Access::write), buffer(kState, 0, 64, fb::Access::read)}, {}));
       }))
    ADD_FAILURE() << finding.rule << ": " << finding.text;
  // Without an event, the copy races with the kernel whose result it reads, as on any two streams.
  expectFinding(
      verifyMutated([&](auto &plan, auto &p) {
        p.instructions.insert(
            p.instructions.begin() + 2,
            make(Opcode::Copy, kReduce,
                 {buffer(addHost(plan), 0, 64, fb::Access::write), buffer(kTransient, 0, 64, fb::Access::read)}, {}));
      }),
      "race", {"[2] copy on reduce", "[0] copy on compute"});
}

TEST(PlanVerifier, FindsBytesBetweenStates) {
  expectFinding(verifyMutated([](auto &, auto &p) {
                  p.instructions[1]->buffers[1] = buffer(kState, 160, 64, fb::Access::write);
                }),
                "state", {"[1] launch", "persistent[160, 224)"});
}

TEST(PlanVerifier, FindsStatesThatShareBytes) {
  expectFinding(verifyMutated([](auto &plan, auto &) { plan.states[1]->offset = 32; }), "state", {"state0", "state1"});
}

TEST(PlanVerifier, FindsOverlappingBuffers) {
  expectFinding(verifyMutated([](auto &, auto &p) {
                  p.instructions[4]->buffers[1] = buffer(kState, 160, 32, fb::Access::write);
                }),
                "overlap", {"[4] all_reduce"});
}

TEST(PlanVerifier, FindsAnAccessAgainstTheKernelsDefinition) {
  expectFinding(verifyMutated([](auto &, auto &p) {
                  p.instructions[1]->fields[0] = 1; // argmax has one operand that it reads and one that it writes
                  p.instructions[1]->buffers[1] = buffer(kState, 128, 64, fb::Access::read);
                }),
                "access", {"[1] launch", "buffer 1"});
}

TEST(PlanVerifier, FindsAnAccessAgainstTheKernelTable) {
  // Generated code writes a buffer that the launch declares as read. Such a race would not be found otherwise.
  expectFinding(
      verifyMutated([](auto &, auto &p) { p.instructions[1]->buffers[1] = buffer(kState, 128, 64, fb::Access::read); }),
      "access", {"[1] launch", "buffer 1 must be write; got: read"});
}

// A gather stream in addition: the rank's share is copied to its place, gathered, and used.
//   13 copy t[share] <- w   14 all_gather t   15 record 4   16 wait 4 (compute)   17 launch state1 <- t
void addGather(fb::PlanT &plan, fb::ProgramT &program) {
  plan.streams.push_back("gather");
  plan.regions[kTransient]->bytes = 256;
  fb::Buffer share(128, 32, kTransient, fb::Access::write, 1, 0, 32);
  auto add = [&](auto instruction) { program.instructions.push_back(std::move(instruction)); };
  add(make(Opcode::Record, kCompute, {}, {4}));
  add(make(Opcode::Wait, kGather, {}, {4}));
  add(make(Opcode::Copy, kGather, {share, buffer(kState, 256, 32, fb::Access::read)}, {}));
  add(make(Opcode::AllGather, kGather, {buffer(kTransient, 128, 64, fb::Access::read_write)}, {0, 0, 0, 16}));
  add(make(Opcode::Record, kGather, {}, {5}));
  add(make(Opcode::Wait, kCompute, {}, {5}));
  add(make(Opcode::Launch, kCompute,
           {buffer(kTransient, 128, 64, fb::Access::read), buffer(kState, 128, 64, fb::Access::write)}, {0}));
}

TEST(PlanVerifier, AcceptsAGather) {
  for (const Finding &finding : verifyMutated(addGather))
    ADD_FAILURE() << finding.rule << ": " << finding.text;
}

TEST(PlanVerifier, FindsAGatherWithoutItsOwnShare) {
  expectFinding(verifyMutated([](auto &plan, auto &p) {
                  addGather(plan, p);
                  drop(p, 15);
                }),
                "uninitialized", {"[15] all_gather on gather", "transient[128, 192)"});
}

TEST(PlanVerifier, FindsAShareOfAnotherWidth) {
  expectFinding(verifyMutated([](auto &plan, auto &p) {
                  addGather(plan, p);
                  p.instructions[15]->buffers[0] = fb::Buffer(128, 16, kTransient, fb::Access::write, 1, 0, 16);
                  p.instructions[15]->buffers[1] = buffer(kState, 256, 16, fb::Access::read);
                }),
                "uninitialized", {"[16] all_gather", "not the one needed"});
}

TEST(PlanVerifier, FindsAReadOfWhatIsNotGatheredYet) {
  expectFinding(verifyMutated([](auto &plan, auto &p) {
                  addGather(plan, p);
                  drop(p, 18);
                }),
                "race", {"[18] launch on compute", "[16] all_gather on gather"});
}

TEST(PlanVerifier, FindsAReadBeyondTheOwnShareOfAReduction) {
  // After a reduce-scatter, only the rank's own share has the sum.
  std::vector<Finding> findings =
      verifyMutated([](auto &, auto &p) { p.instructions[4]->op = static_cast<uint16_t>(Opcode::ReduceScatter); });
  expectFinding(findings, "uninitialized", {"[12] launch", "persistent[128, 192)", "one rank's share"});
}

TEST(PlanVerifier, FindsReplicasThatDrift) {
  // Without the first all-reduce, the update adds a value that each rank has computed from its own samples.
  auto splitInput = [](auto &, auto &p) { p.inputs[0]->split_axes = {0}; };
  EXPECT_TRUE(verifyMutated(splitInput).empty());
  expectFinding(verifyMutated([&](auto &plan, auto &p) {
                  splitInput(plan, p);
                  drop(p, 4);
                }),
                "replica", {"state 'state0'", "axis 'dp'", "[11] launch on compute"});
}

TEST(PlanVerifier, KnowsWhichResultsAreComputedFromWhat) {
  // One kernel computes a gradient from the rank's samples, and also a replicated state from a replicated state.
  auto twoResults = [](std::vector<uint64_t> depends) {
    return [=](auto &plan, auto &p) {
      p.inputs[0]->split_axes = {0};
      plan.kernels.push_back(std::make_unique<fb::KernelT>());
      plan.kernels.back()->name = "two";
      plan.kernels.back()->depends = depends;
      plan.kernels.back()->operands = {{64, 0, fb::Access::read, fb::DType::f32},
                                       {64, 0, fb::Access::read, fb::DType::f32},
                                       {64, 0, fb::Access::write, fb::DType::f32},
                                       {64, 2, fb::Access::write, fb::DType::f32}}; // over its operand 1
      p.instructions[1] = make(Opcode::Launch, kCompute,
                               {buffer(kTransient, 0, 64, fb::Access::read), buffer(kState, 0, 64, fb::Access::read),
                                buffer(kState, 128, 64, fb::Access::write), buffer(kState, 0, 64, fb::Access::write)},
                               {3});
    };
  };
  auto dropUpdate = [&](std::vector<uint64_t> depends) {
    return verifyMutated([&](auto &plan, auto &p) {
      twoResults(depends)(plan, p);
      drop(p, 12);
    });
  };
  EXPECT_TRUE(dropUpdate({1, 2}).empty());
  expectFinding(dropUpdate({}), "replica", {"state 'state0'", "[1] launch on compute"});
  expectFinding(dropUpdate({3, 3}), "replica", {"state 'state0'", "[1] launch on compute"});
}

TEST(PlanVerifier, AcceptsCollectivesOfTwoStreamsSideBySide) {
  EXPECT_TRUE(verifyMutated([](auto &plan, auto &p) {
                plan.streams.push_back("gather");
                p.instructions[9]->stream = kGather;
                p.instructions[8]->stream = kGather;
                p.instructions[10]->stream = kGather;
                p.instructions[9]->buffers[1] = buffer(kStaging, 32, 32, fb::Access::write);
                // Now the update must wait for both streams.
                p.instructions.insert(p.instructions.begin() + 11, make(Opcode::Wait, kCompute, {}, {1}));
              }).empty());
}

TEST(PlanVerifier, FindsAWaitForAnEventThatComesLater) {
  std::vector<Finding> findings =
      verifyMutated([](auto &, auto &p) { std::swap(p.instructions[2], p.instructions[3]); });
  expectFinding(findings, "event", {"[2] wait on reduce"});
}

TEST(PlanVerifier, FindsAnEventRecordedTwice) {
  expectFinding(verifyMutated([](auto &, auto &p) { p.instructions[7]->fields[0] = 0; }), "event",
                {"[7] record on compute", "[2] record on compute"});
}

TEST(PlanVerifier, FindsStreamsThatWaitForEachOther) {
  // The compute stream waits for the end of a collective before it records the event that the collective waits for.
  std::vector<Finding> findings = verifyMutated([](auto &, auto &p) {
    auto wait = std::move(p.instructions[11]);
    wait->fields[0] = 1;
    drop(p, 11);
    p.instructions.insert(p.instructions.begin() + 2, std::move(wait));
  });
  expectFinding(findings, "deadlock", {"wait for each other"});
}

TEST(PlanVerifier, FindsAnEventThatNothingRecords) {
  expectFinding(verifyMutated([](auto &, auto &p) { p.instructions[11]->fields[0] = 7; }), "deadlock",
                {"[11] wait on compute"});
}

// The host feeds an input for many runs, reads an output after other programs have run, and writes a checkpoint while
// training continues.
TEST(PlanVerifier, LeavesTheHostsBytesToIt) {
  auto writing = [](fb::RegionKind kind, const char *name) {
    return verifyMutated([=](fb::PlanT &plan, fb::ProgramT &program) {
      plan.regions.push_back(std::make_unique<fb::RegionT>());
      plan.regions.back()->name = "hosts";
      plan.regions.back()->kind = kind;
      plan.regions.back()->bytes = 64;
      program.name = name;
      if (program.name == "snapshot") {
        program.inputs.clear();
        drop(program, 0);
      }
      program.instructions.push_back(make(Opcode::Fill, kCompute, {buffer(4, 0, 64, fb::Access::write)}, {0, 4}));
    });
  };
  std::vector<Finding> findings = writing(fb::RegionKind::input, "train_step");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "port");
  EXPECT_NE(findings[0].text.find("train_step[13] fill on compute writes hosts[0, 64): only the host writes inputs"),
            std::string::npos)
      << findings[0].text;
  for (fb::RegionKind kind : {fb::RegionKind::output, fb::RegionKind::snapshot}) {
    findings = writing(kind, "train_step");
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].rule, "port");
  }
  for (const Finding &finding : writing(fb::RegionKind::snapshot, "snapshot"))
    EXPECT_NE(finding.rule, "port") << finding.text;
}

TEST(PlanVerifier, FindsAnOutputThatNothingWrites) {
  expectFinding(verifyMutated([](auto &, auto &p) {
                  p.outputs.push_back(std::make_unique<fb::PortT>());
                  p.outputs.back()->name = "y";
                  p.outputs.back()->shape = {4};
                  p.outputs.back()->region = kTransient;
                  p.outputs.back()->offset = 64;
                }),
                "port", {"output 'y'"});
}

// Everything but the wait for the last collective and the update becomes a body. `waits`: the caller waits before the
// update.
std::vector<Finding> verifyCalled(bool waits, int64_t times) {
  return verifyMutated([=](auto &plan, auto &p) {
    auto body = std::make_unique<fb::ProgramT>();
    body->name = "micro";
    body->events = 8;
    body->instructions = std::move(p.instructions);
    auto update = std::move(body->instructions.back());
    body->instructions.resize(11);
    body->instructions.back()->fields[0] = 8; // the record after the last collective, of the plan's event 0
    p.instructions.clear();
    p.instructions.push_back(make(Opcode::Call, kCompute, {}, {1, times, 0}));
    if (waits)
      p.instructions.push_back(make(Opcode::Wait, kCompute, {}, {int64_t{p.events}, times - 1}));
    p.instructions.push_back(std::move(update));
    plan.events.emplace_back(1, fb::Counter::micro_batch);
    plan.programs.push_back(std::move(body));
  });
}

TEST(PlanVerifier, FollowsStreamsThroughCalls) {
  EXPECT_TRUE(verifyCalled(true, 1).empty());
  expectFinding(verifyCalled(false, 1), "race", {"micro[9] all_reduce on reduce", "train_step[1] launch on compute"});
  // The second run computes the gradient while that of the first run may still be reduced.
  for (int64_t times : {2, 9})
    expectFinding(verifyCalled(true, times), "race", {"micro[9] all_reduce on reduce", "micro[6] launch on compute"});
}

// init packs state0 for a product that infer computes: 4 x 4 floats each.
std::vector<Finding>
verifyPacked(const std::function<void(fb::PlanT &, fb::ProgramT &init, fb::ProgramT &infer)> &mutate) {
  fb::PlanT plan = goodPlan();
  auto read = fb::Access::read, write = fb::Access::write, both = fb::Access::read_write;
  auto kernel = [&](const char *name) {
    const rt::KernelDef &def = *rt::findKernelDef(name);
    rt::KernelParams params(def);
    auto f32 = static_cast<int64_t>(fb::DType::f32);
    params.set("dtype", f32).set("out_dtype", f32).set("batch", 1).set("batch_a", 1).set("batch_b", 1).set("m", 4);
    params.set("n", 4).set("k", 4).set("transpose_a", 0).set("transpose_b", 0).set("packed_b", 1);
    plan.kernels.push_back(std::make_unique<fb::KernelT>());
    plan.kernels.back()->name = name;
    plan.kernels.back()->kind = def.kind;
    EXPECT_TRUE(params.finish(&plan.kernels.back()->params).isOk());
    return static_cast<int64_t>(plan.kernels.size()) - 1;
  };
  int64_t pack = kernel("matmul_pack_b"), product = kernel("matmul");
  fb::Buffer scratch = buffer(kTransient, 0, 0, write);
  plan.programs.clear();
  for (const char *name : {"init", "infer"}) {
    plan.programs.push_back(std::make_unique<fb::ProgramT>());
    plan.programs.back()->name = name;
    plan.programs.back()->entry = true;
  }
  fb::ProgramT &init = *plan.programs[0], &infer = *plan.programs[1];
  init.instructions.push_back(make(Opcode::Launch, kCompute, {buffer(kState, 0, 64, both), scratch}, {pack}));
  infer.instructions.push_back(
      make(Opcode::Launch, kCompute,
           {buffer(kState, 128, 64, read), buffer(kState, 0, 64, read), buffer(kTransient, 64, 64, write), scratch},
           {product}));
  mutate(plan, init, infer);
  return verifyPlan(Packed(plan).get(), Check::ButStated);
}

TEST(PlanVerifier, FindsBytesThatAreNotPackedAsTheirKernelWants) {
  auto none = [](auto &, auto &, auto &) {};
  EXPECT_TRUE(verifyPacked(none).empty());
  expectFinding(verifyPacked([](auto &, auto &init, auto &) { init.instructions.clear(); }), "packed",
                {"infer[0] launch", "expected init to pack them"});
  expectFinding(verifyPacked([](auto &plan, auto &, auto &) { plan.kernels.back()->params[5] = 7; }), "packed",
                {"infer[0] launch", "init[0] launch", "as matmul_pack_b leaves them"});
  expectFinding(verifyPacked([](auto &plan, auto &, auto &) { plan.kernels.back()->params.back() = 0; }), "packed",
                {"infer[0] launch", "init[0] launch"});
  expectFinding(verifyPacked([](auto &, auto &init, auto &infer) {
                  infer.instructions.insert(infer.instructions.begin(), std::move(init.instructions[0]));
                  init.instructions.clear();
                }),
                "packed", {"infer[0] launch", "only the program init does"});
  expectFinding(
      verifyPacked([](auto &, auto &init, auto &) {
        init.instructions.push_back(make(Opcode::Fill, kCompute, {buffer(kState, 0, 64, fb::Access::write)}, {0, 4}));
      }),
      "packed", {"infer[0] launch", "expected init to pack them"});
  expectFinding(verifyPacked([](auto &, auto &init, auto &) {
                  init.instructions.push_back(std::make_unique<fb::InstructionT>(*init.instructions[0]));
                }),
                "packed", {"init[1] launch", "packed already"});
  expectFinding(verifyPacked([](auto &, auto &init, auto &) {
                  auto fill = make(Opcode::Fill, kCompute, {buffer(kState, 0, 64, fb::Access::write)}, {1, 4});
                  init.instructions.insert(init.instructions.begin(), std::move(fill));
                }),
                "state", {"init changes state 'state0'", "not by packing"});
  // What is left of packed bytes is not plain.
  expectFinding(verifyPacked([](auto &plan, auto &, auto &infer) {
                  auto read = fb::Access::read, write = fb::Access::write;
                  infer.instructions.push_back(make(Opcode::Fill, kCompute, {buffer(kState, 0, 16, write)}, {0, 4}));
                  infer.instructions.push_back(make(
                      Opcode::Copy, kCompute, {buffer(kTransient, 0, 64, write), buffer(kState, 0, 64, read)}, {}));
                }),
                "packed", {"infer[2] copy"});
  // Packed weights on the host: packed in device memory, copied to the host, and copied back for each run.
  auto throughHost = [](bool copiesBack) {
    return [=](auto &plan, auto &init, auto &infer) {
      plan.regions.push_back(std::make_unique<fb::RegionT>());
      plan.regions.back()->name = "kept";
      plan.regions.back()->kind = fb::RegionKind::persistent;
      plan.regions.back()->space = fb::Space::host;
      plan.regions.back()->bytes = 64;
      plan.regions.back()->frames = 1;
      constexpr uint16_t kHost = 4;
      auto read = fb::Access::read, write = fb::Access::write, both = fb::Access::read_write;
      auto copy = [&](uint16_t to, uint16_t from) {
        return make(Opcode::Copy, kCompute, {buffer(to, 0, 64, write), buffer(from, 0, 64, read)}, {});
      };
      plan.states[0]->region = kHost;
      init.instructions[0]->buffers[0] = buffer(kTransient, 0, 64, both);
      init.instructions.insert(init.instructions.begin(), copy(kTransient, kHost));
      if (copiesBack)
        init.instructions.push_back(copy(kHost, kTransient));
      infer.instructions[0]->buffers[1] = buffer(kTransient, 0, 64, read);
      infer.instructions.insert(infer.instructions.begin(), copy(kTransient, kHost));
    };
  };
  EXPECT_TRUE(verifyPacked(throughHost(true)).empty());
  expectFinding(verifyPacked(throughHost(false)), "packed", {"infer[1] launch", "expected init to pack them"});
}

// Bodies copy packed weights to frames of a region, and multiply by them. `change` gets infer and both bodies.
std::vector<Finding> verifyPackedBodies(
    const std::function<void(fb::PlanT &, fb::ProgramT &infer, fb::ProgramT &load, fb::ProgramT &layer)> &change) {
  return verifyPacked([&](fb::PlanT &plan, fb::ProgramT &, fb::ProgramT &infer) {
    constexpr uint16_t kLoaded = 4;
    plan.regions.push_back(std::make_unique<fb::RegionT>());
    plan.regions.back()->name = "loaded";
    plan.regions.back()->kind = fb::RegionKind::residual;
    plan.regions.back()->bytes = 64;
    plan.regions.back()->frames = 3;
    for (const char *name : {"load", "layer"}) {
      plan.programs.push_back(std::make_unique<fb::ProgramT>());
      plan.programs.back()->name = name;
    }
    fb::ProgramT &load = *plan.programs[2], &layer = *plan.programs[3];
    load.instructions.push_back(
        make(Opcode::Copy, kCompute,
             {buffer(kLoaded, 0, 64, fb::Access::write), buffer(kState, 0, 64, fb::Access::read)}, {}));
    layer.instructions = std::move(infer.instructions);
    layer.instructions[0]->buffers[1] = buffer(kLoaded, 0, 64, fb::Access::read);
    infer.instructions.clear();
    for (int64_t body : {2, 3})
      infer.instructions.push_back(make(Opcode::Call, kCompute, {}, {body, 3, 0}));
    change(plan, infer, load, layer);
  });
}

TEST(PlanVerifier, FollowsPackedBytesThroughCallsAndFrames) {
  auto none = [](auto &, auto &, auto &, auto &) {};
  EXPECT_TRUE(verifyPackedBodies(none).empty());
  // A body reads them as plain ones.
  expectFinding(verifyPackedBodies([](auto &plan, auto &, auto &, auto &) { plan.kernels.back()->params.back() = 0; }),
                "packed", {"layer[0] launch", "init[0] launch", "as matmul_pack_b leaves them"});
  // One of the three frames has other bytes. It is met in the last run.
  expectFinding(
      verifyPackedBodies([](auto &, auto &infer, auto &, auto &) {
        infer.instructions.insert(
            infer.instructions.begin() + 1,
            make(Opcode::Copy, kCompute,
                 {fb::Buffer(0, 64, 4, fb::Access::write, 0, 0, 2), buffer(kState, 256, 64, fb::Access::read)}, {}));
      }),
      "packed", {"layer[0] launch", "expected init to pack them"});
  // Of 100 runs, those from the 34th on find what the second body has written over the first frame.
  expectFinding(verifyPackedBodies([](auto &, auto &infer, auto &, auto &layer) {
                  infer.instructions[1]->fields[1] = 100;
                  layer.instructions[0]->buffers[2] = fb::Buffer(0, 64, 4, fb::Access::write, 0, 0, 1);
                }),
                "packed", {"layer[0] launch", "expected init to pack them"});
}

TEST(PlanVerifier, KeepsPackedBytesFromTheHost) {
  auto copyTo = [](fb::Buffer target) {
    return make(Opcode::Copy, kCompute, {target, buffer(kState, 0, 64, fb::Access::read)}, {});
  };
  for (auto kind : {fb::RegionKind::output, fb::RegionKind::snapshot})
    expectFinding(verifyPacked([&](auto &plan, auto &, auto &infer) {
                    plan.regions[kTransient]->kind = kind;
                    infer.instructions.push_back(copyTo(buffer(kTransient, 0, 64, fb::Access::write)));
                  }),
                  "packed", {"infer[1] copy", "because the host reads them"});
  expectFinding(verifyPacked([&](auto &, auto &, auto &infer) {
                  infer.instructions.push_back(copyTo(buffer(kState, 256, 64, fb::Access::write)));
                }),
                "packed", {"infer[1] copy", "expected only init to leave packed bytes in states"});
  expectFinding(verifyPacked([](auto &, auto &, auto &infer) { infer.name = "train_step"; }), "packed",
                {"init[0] launch", "in a plan that trains"});
}

// A step of five micro-batches, of which these calls (times, first frame) use some.
std::vector<Finding> verifyFed(const std::vector<std::pair<int64_t, int64_t>> &calls, bool bodyReads = true) {
  return verifyMutated([&](fb::PlanT &plan, fb::ProgramT &p) {
    plan.micro_batches = 5;
    plan.regions[kInput]->frames = 5;
    p.inputs[0]->batch_dim = 0;
    auto copyInput = std::move(p.instructions[0]);
    p.instructions.clear();
    for (auto [times, first] : calls)
      p.instructions.push_back(make(Opcode::Call, kCompute, {}, {1, times, first}));
    plan.programs.push_back(std::make_unique<fb::ProgramT>());
    plan.programs.back()->name = "micro";
    plan.programs.back()->instructions.push_back(
        make(Opcode::Fill, kCompute, {buffer(kTransient, 64, 64, fb::Access::write)}, {0, 4}));
    (bodyReads ? *plan.programs.back() : p).instructions.push_back(std::move(copyInput));
  });
}

TEST(PlanVerifier, FindsFedMicroBatchesThatNobodyUses) {
  EXPECT_TRUE(verifyFed({{5, 0}}).empty());
  EXPECT_TRUE(verifyFed({{1, 0}, {3, 1}, {1, 4}}).empty());
  expectFinding(verifyFed({{1, 0}, {2, 3}}), "frame", {"train_step runs for 3 of the 5", "left out: 1, 2"});
  expectFinding(verifyFed({{4, 1}}), "frame", {"train_step runs for 4 of the 5", "left out: 0"});
  expectFinding(verifyFed({{3, 0}}), "frame", {"train_step runs for 3 of the 5", "left out: 3, 4"});
  expectFinding(verifyFed({}), "frame", {"runs for 1 of the 5"});
  expectFinding(verifyFed({{5, 0}}, /*bodyReads=*/false), "frame",
                {"reads input 'x' of 1 of the 5", "left out: 1, 2, 3, 4"});
}

// All parameters that have a gradient are trained, also if none is.
TEST(PlanVerifier, FindsATrainingStepThatTrainsNothing) {
  auto findings = [](bool hasUpdate) {
    fb::PlanT plan = goodPlan();
    for (size_t i : {0, 1}) {
      plan.states[i]->segments.push_back(std::make_unique<fb::SegmentT>());
      plan.states[i]->segments[0]->name = "w";
      plan.states[i]->segments[0]->shape = {16};
    }
    plan.states[1]->role = fb::Role::gradient;
    if (!hasUpdate)
      plan.programs[0]->instructions.pop_back();
    return verifyPlan(Packed(plan).get());
  };
  expectFinding(findings(false), "meaning", {"state 'state0' has a gradient, and no program changes it"});
  for (const Finding &finding : findings(true))
    EXPECT_EQ(finding.text.find("has a gradient"), std::string::npos) << finding.text;
}

// `init` runs at each start, also after a checkpoint is loaded, and `evaluate` as often as a user wants.
TEST(PlanVerifier, FindsOtherProgramsThatChangeWhatIsTrained) {
  auto with = [](const char *other, fb::Role role, const char *state) {
    return verifyMutated([=](fb::PlanT &plan, fb::ProgramT &p) {
      plan.states[0]->role = role;
      plan.states[0]->name = state;
      plan.programs.push_back(std::make_unique<fb::ProgramT>());
      plan.programs.back()->name = other;
      plan.programs.back()->entry = true;
      plan.programs.back()->instructions.push_back(
          make(Opcode::Fill, kCompute, {buffer(kState, 0, 64, fb::Access::write)}, {0, 4}));
    });
  };
  for (std::string other : {"init", "evaluate", "snapshot"})
    expectFinding(with(other.c_str(), fb::Role::parameter, "w"), "state", {other + " changes state 'w'"});
  expectFinding(with("evaluate", fb::Role::scalar, "scalar.step"), "state", {"evaluate changes state 'scalar.step'"});
  expectFinding(with("init", fb::Role::constant, "c"), "state", {"init changes state 'c'"});
}

// The findings of a plan in which one program reads state0 as it finds it, or changes it. The plan also has an empty
// training step if it trains.
std::vector<Finding> verifyUse(const std::string &program, bool trains, fb::Role role, const char *state,
                               const char *slot, bool isRead) {
  return verifyMutated([&](fb::PlanT &plan, fb::ProgramT &p) {
    plan.states[0]->role = role;
    plan.states[0]->name = state;
    plan.states[0]->slot = slot;
    auto read = fb::Access::read, write = fb::Access::write;
    auto use = isRead
                   ? make(Opcode::Copy, kCompute, {buffer(kTransient, 0, 64, write), buffer(kState, 0, 64, read)}, {})
                   : make(Opcode::Fill, kCompute, {buffer(kState, 0, 64, write)}, {0, 4});
    p.inputs.clear();
    p.instructions.clear();
    if (trains && program != "train_step") {
      plan.programs.push_back(std::make_unique<fb::ProgramT>(p));
      plan.programs.back()->entry = true;
    }
    plan.programs.back()->name = program;
    plan.programs.back()->instructions.push_back(std::move(use));
  });
}

TEST(PlanVerifier, LetsAProgramUseTheStatesOfItsRole) {
  struct Row {
    fb::Role role;
    const char *state, *slot;
    std::set<std::string> readers, writers;
  };
  std::set<std::string> weights = {"train_step", "evaluate", "infer", "init of inference"}, step = {"train_step"}, none;
  std::set<std::string> numbers = {"train_step", "evaluate", "infer"}, evaluate = {"evaluate"};
  std::set<std::string> all = {"train_step", "evaluate", "infer", "init of inference", "init"};
  std::set<std::string> changes = {"train_step", "evaluate", "infer", "snapshot"}; // init only packs
  std::vector<Row> rows = {{fb::Role::parameter, "w", "", weights, step},
                           {fb::Role::buffer, "b", "", weights, step},
                           {fb::Role::optimizer, "m", "exp_avg", step, step},
                           {fb::Role::scalar, "scalar.seed", "", numbers, none},
                           {fb::Role::scalar, "scalar.step", "", numbers, none},
                           {fb::Role::scalar, "scalar.lr", "", step, none},
                           {fb::Role::scalar, "scalar.clip_norm", "", step, none},
                           {fb::Role::scalar, "scalar.eval_loss_sum", "", evaluate, evaluate},
                           {fb::Role::scalar, "scalar.eval_predictions", "", evaluate, evaluate},
                           {fb::Role::scalar, "scalar.loss", "", step, step},
                           {fb::Role::scalar, "scalar.loss_scale", "", step, step},
                           {fb::Role::constant, "c", "", all, changes},
                           {fb::Role::gradient, "g", "grad", step, changes},
                           {fb::Role::buffer, "copy", "sum", step, changes}};
  for (const Row &row : rows)
    for (std::string program : {"train_step", "evaluate", "infer", "init of inference", "init", "snapshot"})
      for (bool isRead : {true, false}) {
        bool isOfInference = program == "infer" || program == "init of inference";
        std::string name = program == "init of inference" ? "init" : program;
        bool may = isRead ? program == "snapshot" || row.readers.count(program) : row.writers.count(program) != 0;
        std::vector<Finding> found = verifyUse(name, !isOfInference, row.role, row.state, row.slot, isRead);
        found.erase(std::remove_if(found.begin(), found.end(), [](auto &each) { return each.rule == "snapshot"; }),
                    found.end());
        if (!may)
          expectFinding(found, "state", {name + (isRead ? " reads state '" : " changes state '") + row.state + "'"});
        else
          EXPECT_TRUE(found.empty()) << program << " uses " << row.state << ": " << found.front().text;
      }
  // The host runs no program of another name.
  EXPECT_TRUE(verifyUse("other", true, fb::Role::optimizer, "m", "exp_avg", true).empty());
  expectFinding(verifyUse("other", true, fb::Role::optimizer, "m", "exp_avg", false), "state",
                {"other changes state 'm' of role optimizer", "expected only train_step to change it"});
}

// infer copies its input x to its output y, and has the input labels, too.
TEST(PlanVerifier, FindsOutputsThatNeedMoreThanTheyState) {
  auto with = [](const char *needs, uint64_t from) {
    return verifyMutated([=](fb::PlanT &plan, fb::ProgramT &p) {
      plan.regions.push_back(std::make_unique<fb::RegionT>());
      plan.regions.back()->name = "output";
      plan.regions.back()->kind = fb::RegionKind::output;
      plan.regions.back()->bytes = 64;
      plan.regions[kInput]->bytes = 128;
      plan.properties.push_back(std::make_unique<fb::PropertyT>());
      plan.properties.back()->key = "needs.y";
      plan.properties.back()->value = needs;
      plan.states.clear();
      p.name = "infer";
      for (auto *ports : {&p.inputs, &p.outputs})
        ports->push_back(std::make_unique<fb::PortT>(*p.inputs[0]));
      p.inputs[1]->name = "labels";
      p.inputs[1]->offset = 64;
      p.outputs[0]->name = "y";
      p.outputs[0]->region = 4;
      p.instructions.clear();
      p.instructions.push_back(make(Opcode::Copy, kCompute,
                                    {buffer(4, 0, 64, fb::Access::write), buffer(kInput, from, 64, fb::Access::read)},
                                    {}));
    });
  };
  EXPECT_TRUE(with("x", 0).empty());
  EXPECT_TRUE(with("x,labels", 64).empty());
  expectFinding(with("", 0), "needs", {"needs.y leaves out input 'labels', 'x', on which output 'y' depends"});
  expectFinding(with("labels", 0), "needs", {"needs.y leaves out input 'x'"});
  expectFinding(with("x", 64), "needs", {"needs.y leaves out input 'labels'"});
}

// infer checks indices that are its input idx, or that are computed from it, and copies its input x to its output y.
// Without idx, they are zeros, or what is computed from zeros.
TEST(PlanVerifier, FindsOutputsThatNeedIndicesInRange) {
  auto with = [](bool isComputed) {
    return verifyMutated([=](fb::PlanT &plan, fb::ProgramT &p) {
      auto read = fb::Access::read, write = fb::Access::write;
      constexpr uint16_t kOutput = 4;
      plan.regions.push_back(std::make_unique<fb::RegionT>(*plan.regions[kInput]));
      plan.regions.back()->name = "output";
      plan.regions.back()->kind = fb::RegionKind::output;
      plan.regions[kInput]->bytes = 128;
      plan.properties.push_back(std::make_unique<fb::PropertyT>());
      plan.properties.back()->key = "needs.y";
      plan.properties.back()->value = "x";
      plan.states.clear();
      p.name = "infer";
      for (auto *ports : {&p.inputs, &p.outputs})
        ports->push_back(std::make_unique<fb::PortT>(*p.inputs[0]));
      p.inputs[1]->name = "idx";
      p.inputs[1]->offset = 64;
      p.outputs[0]->name = "y";
      p.outputs[0]->region = kOutput;
      const rt::KernelDef &def = *rt::findKernelDef("take");
      rt::KernelParams params(def);
      params.set("dtype", int64_t(fb::DType::f32)).set("index_dtype", int64_t(fb::DType::i32));
      params.set("outer", 1).set("rows", 16).set("inner", 1).set("indices", 16);
      plan.kernels.push_back(std::make_unique<fb::KernelT>());
      plan.kernels.back()->name = "take";
      plan.kernels.back()->kind = def.kind;
      EXPECT_TRUE(params.finish(&plan.kernels.back()->params).isOk());
      auto take = static_cast<int64_t>(plan.kernels.size() - 1);
      fb::Buffer x = buffer(kInput, 0, 64, read), idx = buffer(kInput, 64, 64, read);
      fb::Buffer computed = buffer(kTransient, 0, 64, write), used = buffer(kTransient, 0, 64, read);
      p.instructions.clear();
      p.instructions.push_back(make(Opcode::Launch, kCompute, {idx, computed}, {0}));
      p.instructions.push_back(
          make(Opcode::Launch, kCompute, {x, isComputed ? used : idx, buffer(kTransient, 64, 64, write)}, {take}));
      p.instructions.push_back(make(Opcode::Copy, kCompute, {buffer(kOutput, 0, 64, write), x}, {}));
    });
  };
  EXPECT_TRUE(with(false).empty());
  expectFinding(with(true), "needs", {"needs.y leaves out input 'idx', and infer computes indices from it"});
}

// The moments of a parameter have its name in a checkpoint, and the host reports scalar.loss.
TEST(PlanVerifier, FindsStatesThatTheHostDoesNotFindByTheirNames) {
  auto with = [](const char *moment, const char *loss, uint64_t place = 0) {
    fb::PlanT plan = goodPlan();
    std::vector<std::tuple<fb::Role, std::string, std::string>> states = {
        {fb::Role::parameter, "bucket", "w"}, {fb::Role::optimizer, "moments", moment}, {fb::Role::scalar, loss, loss}};
    for (size_t i = 0; i < states.size(); ++i) {
      auto &[role, name, segment] = states[i];
      plan.states[i]->role = role;
      plan.states[i]->name = name;
      plan.states[i]->segments.push_back(std::make_unique<fb::SegmentT>());
      plan.states[i]->segments[0]->name = segment;
    }
    plan.states[1]->segments[0]->offset = place;
    std::vector<Finding> found;
    checkTrainingNames(Packed(plan).get(), &found);
    return found;
  };
  EXPECT_TRUE(with("w", "scalar.loss").empty());
  expectFinding(with("v", "scalar.loss"), "state", {"'moments'", "'v'", "no parameter has that name"});
  expectFinding(with("w", "scalar.loss", 8), "state", {"'moments'", "'w' from element 8 on", "expected element 0"});
  expectFinding(with("w", "scalar.lossx"), "state", {"train_step leaves no scalar.loss"});
}

TEST(PlanVerifier, FindsBytesThatAreUsedAsAnotherType) {
  auto with = [](fb::DType ofState, fb::DType ofInput) {
    fb::PlanT plan = goodPlan();
    fb::ProgramT &p = *plan.programs[0];
    plan.states[1]->dtype = ofState;
    p.inputs[0]->dtype = ofInput;
    p.instructions[1]->buffers[0] = buffer(kInput, 0, 64, fb::Access::read); // the input itself, and not a copy
    std::vector<Finding> found;
    checkDeclaredTypes(Packed(plan).get(), &found);
    return found;
  };
  EXPECT_TRUE(with(fb::DType::f32, fb::DType::f32).empty());
  expectFinding(with(fb::DType::i32, fb::DType::f32), "type",
                {"[1] launch on compute uses state 'state1' as elements of f32; it is declared as i32"});
  expectFinding(with(fb::DType::f32, fb::DType::i32), "type", {"[1] launch", "input 'x' as elements of f32"});
}

TEST(PlanVerifier, FindsInputsThatNobodyFeeds) {
  auto with = [](const char *name) {
    return verifyMutated([=](fb::PlanT &plan, fb::ProgramT &p) {
      plan.programs.push_back(std::make_unique<fb::ProgramT>());
      plan.programs.back()->name = name;
      plan.programs.back()->entry = true;
      plan.programs.back()->inputs.push_back(std::make_unique<fb::PortT>(*p.inputs[0]));
      plan.states.clear();
      p.instructions.clear();
    });
  };
  EXPECT_TRUE(with("evaluate").empty());
  for (std::string name : {"init", "snapshot"})
    expectFinding(with(name.c_str()), "port", {name + " has input 'x'", "expected no inputs"});
}

// The update changes state0, and the backward pass of the next step reads it.
TEST(PlanVerifier, FindsValuesThatNoCheckpointHolds) {
  auto carried = [](fb::Role role, const char *slot, bool isRead) {
    return verifyMutated([=](fb::PlanT &plan, fb::ProgramT &p) {
      plan.states[0]->role = role;
      plan.states[0]->slot = slot;
      if (isRead)
        p.instructions[1]->buffers[0] = buffer(kState, 0, 64, fb::Access::read);
    });
  };
  EXPECT_TRUE(carried(fb::Role::buffer, "", true).empty());
  EXPECT_TRUE(carried(fb::Role::buffer, "before", false).empty());
  for (auto [role, slot] : {std::pair(fb::Role::buffer, "before"), std::pair(fb::Role::gradient, "grad"),
                            std::pair(fb::Role::constant, "")})
    expectFinding(carried(role, slot, true), "state",
                  {"train_step reads state 'state0' as an earlier program has left it", "no checkpoint holds it"});
}

std::vector<Finding> verifyTwoKinds(const std::function<void(fb::ProgramT &)> &mutate) {
  fb::PlanT other = goodPlan();
  mutate(*other.programs[0]);
  Packed a(goodPlan()), b(other);
  return verifyKinds({&a.get(), &b.get()});
}

TEST(PlanVerifier, AcceptsEqualKinds) {
  EXPECT_TRUE(verifyTwoKinds([](auto &) {}).empty());
}

TEST(PlanVerifier, FindsKindsThatMeetDifferentCollectives) {
  expectFinding(verifyTwoKinds([](auto &p) { p.instructions[9]->fields[4] = 8; }), "collective-match",
                {"[9] all_reduce", "differs"});
}

TEST(PlanVerifier, FindsKindsThatIssueCollectivesOfTwoGroupsInTwoOrders) {
  // Two groups on two streams. Each kind's order is legal, but together they hang a device that issues in list order.
  auto twoGroups = [](bool swapped) {
    fb::PlanT plan = goodPlan();
    plan.groups.push_back(std::make_unique<fb::GroupT>());
    plan.streams.push_back("gather");
    fb::ProgramT &program = *plan.programs[0];
    program.instructions.clear();
    auto collective = [&](uint8_t stream, int64_t group, uint64_t at) {
      program.instructions.push_back(
          make(Opcode::AllGather, stream, {buffer(kState, at, 64, fb::Access::read_write)}, {group, 0, 0, 16}));
    };
    collective(swapped ? kGather : kReduce, swapped ? 1 : 0, swapped ? 256 : 128);
    collective(swapped ? kReduce : kGather, swapped ? 0 : 1, swapped ? 128 : 256);
    return plan;
  };
  Packed a(twoGroups(false)), b(twoGroups(true)), c(twoGroups(false));
  EXPECT_TRUE(verifyKinds({&a.get(), &c.get()}).empty());
  expectFinding(verifyKinds({&a.get(), &b.get()}), "deadlock", {"all_gather", "wait for each other"});
}

// Thirteen levels of calls, three times each. This is more than the verifier examines, so it must not count as proved.
TEST(PlanVerifier, SaysWhereItStopsLooking) {
  fb::PlanT plan = goodPlan();
  fb::ProgramT &last = *plan.programs[0];
  for (int level = 1; level <= 13; ++level) {
    auto program = std::make_unique<fb::ProgramT>();
    program->name = "level" + std::to_string(level);
    program->events = 8;
    for (int copies = level == 13 ? 3 : 1; copies > 0; --copies)
      program->instructions.push_back(make(Opcode::Call, kCompute, {}, {level == 13 ? 0 : level + 1, 3, 0}));
    plan.programs.push_back(std::move(program));
  }
  last.entry = false;
  last.instructions.resize(1);
  plan.programs[1]->entry = true;
  Packed packed(plan);
  expectFinding(verifyKinds({&packed.get(), &packed.get()}), "too long", {"is not checked"});
}

TEST(PlanVerifier, FindsACollectiveThatOneKindLacks) {
  expectFinding(verifyTwoKinds([](auto &p) { drop(p, 9); }), "collective-match",
                {"[9] all_reduce", "met by nothing", "[4] all_reduce"});
}

} // namespace
} // namespace cleave::plan

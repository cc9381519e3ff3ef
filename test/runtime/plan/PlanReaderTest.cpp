#include "runtime/plan/PlanReader.h"
#include "runtime/plan/Seals.h"

#include "runtime/plan/PlanPrinter.h"
#include "runtime/plan/PlanSummary.h"
#include "runtime/plan/Properties.h"
#include "runtime/plan/Tokens.h"
#include "test/runtime/device/PlanBuilder.h"

#include <nlohmann/json.hpp>
#include <random>

using namespace cleave::rt;
using cleave::rt::test::PlanBuilder;

namespace {

// A plan with one of everything: two axes, a state, a called program with a collective and generated code that works in
// place, and a product.
PlanBuilder makePlan() {
  PlanBuilder b({{"dp", 2}, {"tp", 3}});
  unsigned params = b.region("params", fb::RegionKind::persistent, 4096);
  unsigned work = b.region("transient", fb::RegionKind::transient, 8192, 2);
  auto &state = b.state("w", fb::DType::f32, 12, params);
  state.split_axes = {1};
  state.segments.push_back(std::make_unique<fb::SegmentT>());
  state.segments[0]->name = "layer.\"weight\"";
  state.segments[0]->shape = {2, 5};
  int64_t dp = b.group({0});
  KernelParams params1(*findKernelDef("matmul"));
  for (const char *name : {"dtype", "out_dtype", "transpose_a", "transpose_b"})
    params1.set(name, 0);
  for (const char *name : {"batch", "batch_a", "batch_b", "m", "n", "k"})
    params1.set(name, 1);
  std::vector<int64_t> list;
  EXPECT_TRUE(params1.finish(&list).isOk());
  int64_t matmul = b.kernel(fb::KernelKind::library, "matmul", list);
  b.plan.kernels[0]->flops = 2;
  b.plan.kernels[0]->scratch = 64;
  auto &step = b.program("train_step", 1);
  b.add(step, Opcode::Launch, 0,
        {b.buffer(params, 0, 4), b.buffer(params, 4, 4), b.buffer(work, 0, 4), b.buffer(work, 64, 64)}, {matmul},
        "layer/MatMul");
  b.add(step, Opcode::Record, 0, {}, {0});
  b.add(step, Opcode::Wait, 1, {}, {0});
  b.add(step, Opcode::Call, 0, {}, {1, 3, 0});
  auto &micro = b.program("micro", 0, false);
  b.add(micro, Opcode::AllReduce, 1, {b.buffer(work, 0, 400), b.buffer(work, 400, 200)},
        {dp, int64_t(fb::DType::f32), 0, 0, 100}, "bucket.0");
  auto read = fb::Access::read, write = fb::Access::write;
  std::vector<fb::Buffer> inPlace = {b.buffer(work, 1024, 64, read), b.buffer(work, 2048, 256, read),
                                     b.buffer(work, 1024, 64, write)};
  b.add(micro, Opcode::Launch, 0, inPlace, {b.generated("k0", inPlace, 16, {{2, 0}})});
  return b;
}

template <typename Break> std::string refusal(Break breakIt) {
  PlanBuilder b = makePlan();
  breakIt(b.plan);
  const fb::Plan *plan = nullptr;
  Status status = b.tryOpen(&plan);
  EXPECT_FALSE(status.isOk());
  EXPECT_EQ(plan, nullptr);
  return status.message();
}

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

TEST(PlanReader, OpensWhatIsRight) {
  PlanBuilder b = makePlan();
  const fb::Plan &plan = b.open();
  EXPECT_EQ(meshSize(plan), 6u);
  EXPECT_EQ(stateShardBytes(plan, *plan.states()->Get(0)), 16u);
}

TEST(PlanReader, OpensGeneratedCodeOnEveryStream) {
  PlanBuilder b = makePlan();
  b.plan.programs[1]->instructions[1]->stream = 1;
  b.open();
}

TEST(PlanReader, NamesWhatIsWrong) {
  expectContains(refusal([](fb::PlanT &p) { p.format = 99; }), "format 99");
  expectContains(refusal([](fb::PlanT &p) { p.instruction_set ^= 1; }), "instruction set");
  expectContains(refusal([](fb::PlanT &p) { p.kernel_set ^= 1; }), "kernel set");
  expectContains(refusal([](fb::PlanT &p) { p.axes[0]->size = 0; }), "'dp' has size 0");
  expectContains(refusal([](fb::PlanT &p) { p.regions[0]->bytes = ~0ull; }), "region 'params'");
  expectContains(refusal([](fb::PlanT &p) { p.states[0]->elements = 13; }), "evenly");
  expectContains(refusal([](fb::PlanT &p) { p.states[0]->offset = 4090; }), "outside of its region");
  expectContains(refusal([](fb::PlanT &p) { p.states[0]->split_axes = {7}; }), "mesh axis 7");
  expectContains(refusal([](fb::PlanT &p) { p.states[0]->segments[0]->shape = {-1}; }), "outside of the state");
  expectContains(refusal([](fb::PlanT &p) { p.kernels[0]->name = "mystery"; }), "'mystery'");
  expectContains(refusal([](fb::PlanT &p) { p.kernels[0]->params.pop_back(); }), "packed_b");
  expectContains(refusal([](fb::PlanT &p) {
                   p.kernels[0]->params[2] = 6; // batch
                   p.kernels[0]->params[4] = 3; // batch_b
                 }),
                 "kernel 0 'matmul': kernel matmul: expected batch_b to be 1 or 6, as batch is; got: 3");
  expectContains(refusal([](fb::PlanT &p) { p.programs[0]->instructions[0]->op = 77; }), "opcode 77");
  expectContains(refusal([](fb::PlanT &p) { p.programs[0]->instructions[0]->stream = 9; }), "stream 9");
  // A library's kernel must be on the compute stream, because other streams have one thread. Generated code may be on
  // others.
  expectContains(refusal([](fb::PlanT &p) { p.programs[0]->instructions[0]->stream = 1; }), "kernel matmul on stream");
  expectContains(refusal([](fb::PlanT &p) { p.programs[0]->instructions[0]->fields = {}; }), "expected 1 fields");
  expectContains(refusal([](fb::PlanT &p) { p.programs[0]->instructions[0]->fields = {4}; }), "kernel 4");
  expectContains(refusal([](fb::PlanT &p) { p.programs[0]->instructions[0]->buffers.pop_back(); }), "4 buffers");
  expectContains(refusal([](fb::PlanT &p) {
                   p.programs[0]->instructions[0]->buffers[0] = fb::Buffer(~0ull, 4, 0, fb::Access::read, 0, 0, 0);
                 }),
                 "outside of its region");
  expectContains(refusal([](fb::PlanT &p) { p.programs[0]->instructions[2]->fields = {1, 0}; }), "event 1");
  expectContains(
      refusal([](fb::PlanT &p) { p.programs[0]->instructions.erase(p.programs[0]->instructions.begin() + 1); }),
      "not recorded before");
  expectContains(refusal([](fb::PlanT &p) {
                   p.programs[0]->entry = false;
                   p.programs[0]->instructions[3]->fields = {0, 1, 0, 0, 0};
                 }),
                 "calls itself");
  expectContains(refusal([](fb::PlanT &p) { p.programs[1]->entry = true; }), "calls micro, which the host runs");
  expectContains(refusal([](fb::PlanT &p) { p.programs[1]->instructions[0]->fields[4] = 101; }), "multiple");
  expectContains(refusal([](fb::PlanT &p) {
                   p.programs[1]->instructions[0]->buffers[1] = fb::Buffer(400, 100, 1, fb::Access::write, 0, 0, 0);
                 }),
                 "staging");
}

// A property with a misspelt key would not be read, and would seem to be absent. So such a key is refused.
TEST(PlanReader, KnowsTheKeysOfProperties) {
  auto withKeys = [](std::vector<std::string> keys) {
    return [keys = std::move(keys)](fb::PlanT &p) {
      for (const std::string &key : keys) {
        p.properties.push_back(std::make_unique<fb::PropertyT>());
        p.properties.back()->key = key;
        p.properties.back()->value = "text of " + key;
      }
    };
  };
  for (const char *key : {"mixs.logits", "mixes", "mixeslogits", "evaluate.divisors", "evaluate", "loss-", "los", ""})
    expectContains(refusal(withKeys({"model", key})),
                   "has the property '" + std::string(key) + "', which this runtime");
  expectContains(refusal(withKeys({"needs.x", "loss", "needs.x"})), "the property 'needs.x' twice");
  expectContains(refusal([&](fb::PlanT &p) {
                   p.kinds.push_back(std::make_unique<fb::PlanT>(p));
                   withKeys({"lrr"})(*p.kinds.back());
                 }),
                 "'lrr'");

  PlanBuilder b = makePlan();
  withKeys({"model", "mixes.a.b", "needs.a.b", "mixes.", "evaluate.divisor", "kernels.bf16"})(b.plan);
  const fb::Plan &plan = b.open();
  EXPECT_EQ(propertyOf(plan, kModelProperty), "text of model");
  EXPECT_EQ(propertyOf(plan, kMixesProperties.of("a.b")), "text of mixes.a.b");
  EXPECT_EQ(propertyOf(plan, kLossProperty), "");
  EXPECT_EQ(findProperty(plan, kMixesProperties.of("a")), nullptr);
}

// A buffer in the second region.
fb::Buffer at(uint64_t offset, uint64_t bytes) { return {offset, bytes, 1, fb::Access::read_write, 0, 0, 0}; }

// The generated kernel writes its buffer 2 over its buffer 0.
TEST(PlanReader, KnowsWhereThingsMayLie) {
  expectContains(refusal([](fb::PlanT &p) { p.states[0]->offset = 2; }), "is not aligned to its type");
  expectContains(refusal([](fb::PlanT &p) { p.states[0]->region = 1; }), "a region that is not persistent");
  expectContains(refusal([](fb::PlanT &p) { p.regions[0]->frames = 2; }), "2 frames; expected one");
  expectContains(refusal([](fb::PlanT &p) {
                   for (int i = 0; i < 65; ++i) {
                     p.axes.push_back(std::make_unique<fb::AxisT>());
                     p.axes.back()->name = "a" + std::to_string(i);
                     p.axes.back()->size = 1;
                   }
                 }),
                 "axes");
  auto withPort = [](fb::RegionKind kind, uint64_t offset, unsigned frames, unsigned microBatches) {
    return refusal([&](fb::PlanT &p) {
      p.micro_batches = microBatches;
      p.regions.push_back(std::make_unique<fb::RegionT>());
      p.regions.back()->name = "ports";
      p.regions.back()->kind = kind;
      p.regions.back()->bytes = 64;
      p.regions.back()->frames = frames;
      p.programs[0]->inputs.push_back(std::make_unique<fb::PortT>());
      p.programs[0]->inputs[0]->name = "x";
      p.programs[0]->inputs[0]->shape = {4};
      p.programs[0]->inputs[0]->region = static_cast<uint16_t>(p.regions.size() - 1);
      p.programs[0]->inputs[0]->offset = offset;
    });
  };
  expectContains(withPort(fb::RegionKind::persistent, 0, 1, 1), "lies in a region of kind persistent");
  expectContains(withPort(fb::RegionKind::input, 2, 1, 1), "is not aligned to its type");
  expectContains(withPort(fb::RegionKind::input, 0, 1, 4), "1 frames for 4 micro-batches");
}

TEST(PlanReader, HoldsGeneratedCodeToItsOperands) {
  auto launch = [](fb::PlanT &p) -> fb::InstructionT & { return *p.programs[1]->instructions[1]; };
  const std::string place = "program 'micro', instruction 1 (launch): kernel k0 ";
  expectContains(refusal([&](fb::PlanT &p) { launch(p).buffers[1] = at(2048, 252); }),
                 place + "touches 256 bytes of buffer 1; got: 252");
  expectContains(refusal([&](fb::PlanT &p) { launch(p).buffers[1] = at(2048, 260); }), "got: 260");
  expectContains(refusal([&](fb::PlanT &p) { launch(p).buffers[2] = at(4096, 64); }),
                 place + "writes buffer 2 where buffer 0 lies; expected one buffer for both");
  expectContains(refusal([&](fb::PlanT &p) { launch(p).buffers[1] = at(1020, 256); }),
                 place + "cannot work in place: buffer 1 and buffer 2 overlap");
  expectContains(
      refusal([&](fb::PlanT &p) { p.kernels[1]->operands[2] = fb::Operand(64, 0, fb::Access::write, fb::DType::u8); }),
      place + "cannot work in place: buffer 0 and buffer 2 overlap");
  expectContains(refusal([&](fb::PlanT &p) { launch(p).buffers.pop_back(); }), place + "takes 3 buffers; got: 2");
  expectContains(refusal([&](fb::PlanT &p) { p.kernels[1]->operands.clear(); }), place + "takes 0 buffers; got: 3");
}

// The definition holds, whatever the plan says about the kernel.
TEST(PlanReader, HoldsLibraryKernelsToTheirDefinition) {
  auto launch = [](fb::PlanT &p) -> fb::InstructionT & { return *p.programs[0]->instructions[0]; };
  const std::string place = "program 'train_step', instruction 0 (launch): kernel matmul ";
  expectContains(refusal([&](fb::PlanT &p) { launch(p).buffers[2] = at(0, 0); }),
                 place + "touches 4 bytes of buffer 2 (c); got: 0");
  expectContains(refusal([&](fb::PlanT &p) { p.kernels[0]->params[6] = 2; }),
                 "touches 8 bytes of buffer 1 (b); got: 4");
  expectContains(refusal([&](fb::PlanT &p) { launch(p).buffers[2] = launch(p).buffers[0]; }),
                 place + "cannot work in place: buffer 0 (a) and buffer 2 (c) overlap");
  expectContains(refusal([&](fb::PlanT &p) { launch(p).buffers[3] = at(0, 64); }), "and buffer 3 (scratch) overlap");
  expectContains(
      refusal([&](fb::PlanT &p) { p.kernels[0]->operands.emplace_back(4, 0, fb::Access::read, fb::DType::f32); }),
      "kernel 0 'matmul': its operands are those of its definition");
  expectContains(refusal([&](fb::PlanT &p) { p.kernels[0]->params[6] = -1; }), "expected a positive n; got: -1");
}

// Code generation hashes the facts of the code. The hash is in the plan and next to the code.
TEST(PlanReader, HoldsGeneratedKernelsToTheirCode) {
  PlanBuilder b = makePlan();
  b.pack(); // sets the hash
  uint64_t facts = b.plan.kernels[1]->facts;
  for (auto change : {+[](fb::KernelT &k) { k.extent = 17; }, +[](fb::KernelT &k) { k.depends = {1}; },
                      +[](fb::KernelT &k) { k.name = "k1"; },
                      +[](fb::KernelT &k) { k.operands[1] = fb::Operand(256, 0, fb::Access::read, fb::DType::i8); }}) {
    PlanBuilder changed = makePlan();
    changed.plan.kernels[1]->facts = facts;
    change(*changed.plan.kernels[1]);
    const fb::Plan *plan = nullptr;
    expectContains(changed.tryOpen(&plan).message(), "that its code was generated for");
  }
  const fb::Plan &plan = b.open();
  uint64_t ofCode[] = {0, facts};
  EXPECT_TRUE(checkFacts(plan, ofCode, 2).isOk());
  expectContains(checkFacts(plan, ofCode, 1).message(), "kernel 1 'k0' is not the code");
  uint64_t ofOthers[] = {0, facts + 1};
  expectContains(checkFacts(plan, ofOthers, 2).message(), "kernel 1 'k0' is not the code");
  uint64_t ofMore[] = {0, facts, 0};
  expectContains(checkFacts(plan, ofMore, 3).message(), "2 kernels, and the program has code for 3");
}

// Code generation writes this hash next to the code. It covers all statements of the plan about itself.
TEST(PlanReader, HoldsStatementsToTheirSeal) {
  auto stated = [](const std::function<void(fb::PlanT &)> &change) {
    PlanBuilder b = makePlan();
    b.plan.programs[0]->meaning.push_back(std::make_unique<fb::MeaningT>());
    b.plan.programs[0]->meaning.back()->name = "state w";
    b.plan.programs[0]->meaning.back()->number = 7;
    change(b.plan);
    return b;
  };
  PlanBuilder original = stated([](fb::PlanT &) {});
  uint64_t seal = meaningSeal(original.open());
  EXPECT_TRUE(checkMeaningSeal(original.open(), seal).isOk());
  for (auto change : {+[](fb::PlanT &p) { ++p.programs[0]->meaning[0]->number; },
                      +[](fb::PlanT &p) { ++p.programs[0]->meaning[0]->high; },
                      +[](fb::PlanT &p) { p.programs[0]->meaning[0]->name = "state v"; },
                      +[](fb::PlanT &p) { p.programs[0]->meaning.clear(); }, +[](fb::PlanT &p) { ++p.declared; }}) {
    PlanBuilder changed = stated(change);
    expectContains(checkMeaningSeal(changed.open(), seal).message(), "is not the one that was compiled");
  }
}

TEST(PlanReader, WantsBuffersOfALaunchAligned) {
  auto launch = [](fb::PlanT &p) -> fb::InstructionT & { return *p.programs[0]->instructions[0]; };
  expectContains(refusal([&](fb::PlanT &p) { launch(p).buffers[0] = at(1, 4); }),
                 "takes buffer 0 (a) at a multiple of 4 bytes; got: 1");
  expectContains(refusal([&](fb::PlanT &p) { launch(p).buffers[3] = PlanBuilder::buffer(1, 96, 64); }),
                 "takes buffer 3 (scratch) at a multiple of 64 bytes; got: 96");
  // In all frames: the second frame begins at the end of the first one.
  expectContains(refusal([&](fb::PlanT &p) { p.regions[1]->bytes = 8200; }),
                 "takes buffer 3 (scratch) at a multiple of 64 bytes; got: 64 in frames of 8200");
  expectContains(refusal([&](fb::PlanT &p) { p.kernels[0]->scratch = 128; }),
                 "touches 128 bytes of buffer 3 (scratch); got: 64");
}

// `ofCode` has four bits for each buffer. The first buffer has the lowest bits.
TEST(PlanReader, WantsTheAlignmentThatDeviceCodeCountsOn) {
  auto check = [](uint64_t ofCode, const std::function<void(fb::PlanT &)> &change) {
    PlanBuilder b = makePlan();
    change(b.plan);
    return checkAlignments(b.open(), {0, ofCode});
  };
  auto buffer = [](fb::PlanT &p, size_t i) -> fb::Buffer & { return p.programs[1]->instructions[1]->buffers[i]; };
  auto nothing = [](fb::PlanT &) {};
  auto moved = [&](fb::PlanT &p) { buffer(p, 1) = at(2056, 256); };
  const std::string place =
      "program 'micro', instruction 1 (launch): the code of kernel k0 takes buffer 1 at a multiple of ";
  EXPECT_TRUE(check(0x444, nothing).isOk());
  EXPECT_TRUE(check(0x434, moved).isOk());
  expectContains(check(0x444, moved).message(), place + "16 bytes; got a multiple of 8");
  expectContains(check(0x040,
                       [](fb::PlanT &p) {
                         p.regions[1]->bytes = 8192 + 8;
                         p.programs[0]->instructions.clear(); // otherwise its scratch would be refused first
                         p.programs[0]->events = 0;
                       })
                     .message(),
                 place + "16 bytes; got a multiple of 8");
  expectContains(checkAlignments(makePlan().open(), {0}).message(), "more kernels than the program has alignments for");
}

// The peak of one kind of values cannot be larger than that of all transient values.
TEST(PlanReader, BoundsPeaksByTheirRegion) {
  auto peak = [](uint64_t bytes) {
    return [bytes](fb::PlanT &p) {
      p.programs[1]->peaks.push_back(std::make_unique<fb::PeakT>());
      p.programs[1]->peaks.back()->kind = "gathered";
      p.programs[1]->peaks.back()->bytes = bytes;
    };
  };
  PlanBuilder b = makePlan();
  peak(8192)(b.plan);
  b.open();
  expectContains(refusal(peak(8193)),
                 "program 'micro' states a peak of 8193 bytes of kind 'gathered'; expected at most the 8192");
}

TEST(PlanReader, WantsSegmentsApart) {
  auto add = [](fb::PlanT &p, uint64_t offset) {
    p.states[0]->segments.push_back(std::make_unique<fb::SegmentT>());
    p.states[0]->segments.back()->name = "bias";
    p.states[0]->segments.back()->shape = {2};
    p.states[0]->segments.back()->offset = offset;
  };
  expectContains(refusal([&](fb::PlanT &p) { add(p, 9); }), "'bias' of state 'w' overlap");
  expectContains(refusal([&](fb::PlanT &p) { add(p, 0); }), "'bias' of state 'w' overlap");
  PlanBuilder b = makePlan();
  add(b.plan, 10);
  b.open();
}

// Makes a second kind, which is like the first, at coordinate 1 of the first axis.
fb::PlanT &addKind(fb::PlanT &p) {
  for (auto &kernel : p.kernels)
    if (kernel->kind == fb::KernelKind::generated)
      kernel->facts = KernelFacts::of(*kernel).hash();
  p.where.push_back(std::make_unique<fb::AxisRangeT>());
  p.where[0]->end = 1;
  p.kinds.push_back(std::make_unique<fb::PlanT>(p));
  p.kinds[0]->kind = "other";
  p.kinds[0]->where[0]->begin = 1;
  p.kinds[0]->where[0]->end = 2;
  return *p.kinds[0];
}

TEST(PlanReader, WantsOfAStateWhatItsRoleHas) {
  auto refused = [](fb::Role role, const std::string &name, const std::function<void(fb::StateT &)> &change) {
    return refusal([&](fb::PlanT &p) {
      p.states[0]->role = role;
      p.states[0]->name = name;
      p.states[0]->split_axes = {};
      change(*p.states[0]);
    });
  };
  auto partial = [](fb::StateT &s) { s.partial_axes = {0}; };
  auto split = [](fb::StateT &s) { s.split_axes = {1}; };
  auto coordinate = [](fb::StateT &s) { s.segments[0]->init = fb::InitKind::coordinate; };
  for (fb::Role role :
       {fb::Role::parameter, fb::Role::buffer, fb::Role::optimizer, fb::Role::constant, fb::Role::coordinate})
    expectContains(refused(role, "w", partial), std::string("state 'w' of role ") + fb::EnumNameRole(role) +
                                                    " is an unreduced sum over 1 axes; expected its value");
  for (const char *name : {"scalar.lr", "scalar.step", "scalar.loss", "scalar.eval_loss_sum", "scalar.eval_count"})
    expectContains(refused(fb::Role::scalar, name, partial), "of role scalar is an unreduced sum");
  for (fb::Role role : {fb::Role::scalar, fb::Role::coordinate})
    expectContains(refused(role, "w", split), "is split over 1 axes; expected the whole on each rank");
  expectContains(refused(fb::Role::scalar, "scalar.step", [](fb::StateT &) {}), "has 12 elements; expected one");
  expectContains(refused(fb::Role::parameter, "w", coordinate), "begins as the rank's coordinate on an axis");
  auto one = [](fb::StateT &s) { s.elements = 1, s.segments[0]->shape = {}; };
  expectContains(refused(fb::Role::coordinate, "w", one), "begins as something else than the rank's coordinate");
  expectContains(refused(fb::Role::coordinate, "w", [](fb::StateT &s) { s.segments.clear(); }),
                 "does not say which coordinate it is");
  expectContains(refused(fb::Role::parameter, "scalar.lr", one), "has the name of a scalar; expected that role");
  // A gradient is partial until it is reduced, and so are the sums of a step.
  for (auto [role, name] : {std::pair(fb::Role::gradient, "w.grad"), std::pair(fb::Role::scalar, "scalar.loss_sum"),
                            std::pair(fb::Role::scalar, "scalar.micro.c1")}) {
    PlanBuilder b = makePlan();
    b.plan.states[0]->role = role;
    b.plan.states[0]->name = name;
    b.plan.states[0]->split_axes = {};
    partial(*b.plan.states[0]);
    b.open();
  }
}

// On two kinds of ranks, one for each coordinate of the data axis "dp", an input lies in one alone.
TEST(PlanReader, WantsPortsWhereTheirSamplesAre) {
  auto open = [](bool hasBatch, bool isAbsent) {
    PlanBuilder b = makePlan();
    unsigned region = b.region("input", fb::RegionKind::input, 64);
    b.plan.data_axes = {0};
    b.plan.programs[0]->inputs.push_back(std::make_unique<fb::PortT>());
    fb::PortT &port = *b.plan.programs[0]->inputs.back();
    port.name = "x";
    port.shape = {2};
    port.region = static_cast<uint16_t>(region);
    port.batch_dim = hasBatch ? 0 : -1;
    if (hasBatch)
      port.split_axes = {0};
    addKind(b.plan).programs[0]->inputs[0]->absent = isAbsent;
    const fb::Plan *plan = nullptr;
    return b.tryOpen(&plan).message();
  };
  EXPECT_EQ(open(true, false), "");
  EXPECT_EQ(open(false, true), "");
  expectContains(open(true, true),
                 "the kinds of ranks that have port 'x' of program 'train_step' do not have all of its samples");
}

// 40 kinds, which cut 19 data axes at 2^19 places, and 40 ports that lie on different sets of them. To look at all of
// these places took seconds for each set.
TEST(PlanReader, ComparesKindsInBoundedTime) {
  constexpr unsigned kAxes = 20, kPorts = 40;
  PlanBuilder b([] {
    std::vector<std::pair<std::string, unsigned>> axes;
    for (unsigned axis = 0; axis < kAxes; ++axis)
      axes.emplace_back("a" + std::to_string(axis), 2);
    return axes;
  }());
  unsigned region = b.region("input", fb::RegionKind::input, 64);
  fb::ProgramT &program = b.program("infer");
  for (unsigned axis = 1; axis < kAxes; ++axis) // axis 0 has no samples, so that a place is on two kinds
    b.plan.data_axes.push_back(axis);
  for (unsigned i = 0; i < kPorts; ++i) {
    program.inputs.push_back(std::make_unique<fb::PortT>());
    program.inputs.back()->name = "x" + std::to_string(i);
    program.inputs.back()->shape = {2};
    program.inputs.back()->region = static_cast<uint16_t>(region);
    program.inputs.back()->batch_dim = 0;
    program.inputs.back()->split_axes = b.plan.data_axes;
  }
  std::vector<std::unique_ptr<fb::PlanT>> kinds;
  for (unsigned half = 0; half < 2; ++half)
    for (unsigned cut = kAxes; cut-- > 0;) { // 1 on axis `cut`, 0 on those after it; the last kind has 0 on all
      kinds.push_back(std::make_unique<fb::PlanT>(b.plan));
      fb::PlanT &kind = *kinds.back();
      kind.kind = "kind" + std::to_string(kinds.size());
      for (unsigned axis = 0; axis < kAxes; ++axis) {
        if (axis != 0 && axis < cut)
          continue;
        unsigned at = axis == 0 ? half : axis == cut ? 1 : 0;
        kind.where.push_back(std::make_unique<fb::AxisRangeT>());
        kind.where.back()->axis = axis;
        kind.where.back()->begin = at;
        kind.where.back()->end = at + 1;
      }
      for (unsigned i = 0; i < kPorts; ++i)
        kind.programs[0]->inputs[i]->absent = (cut + i) % kAxes < i && (half == i % 2);
    }
  b.plan.kind = kinds[0]->kind;
  b.plan.where = std::move(kinds[0]->where);
  for (size_t i = 1; i < kinds.size(); ++i)
    b.plan.kinds.push_back(std::move(kinds[i]));
  const fb::Plan *plan = nullptr;
  expectContains(b.tryOpen(&plan).message(),
                 "its 40 kinds of ranks cut 19 data axes at too many places to find out whether they have all samples "
                 "of port 'x0' of program 'infer'");
}

// A checkpoint could not be read back if it had two tensors of one name.
TEST(PlanReader, WantsEachSavedTensorOnce) {
  auto add = [](fb::PlanT &p, const std::string &name) -> fb::StateT & {
    p.states.push_back(std::make_unique<fb::StateT>(*p.states[0]));
    p.states.back()->name = name;
    p.states.back()->offset = 64 * (p.states.size() - 1);
    return *p.states.back();
  };
  const std::string tensor = "layer.\"weight\"",
                    twice = "state 'v' holds the tensor '" + tensor + "', which state 'w' holds too";
  expectContains(refusal([&](fb::PlanT &p) { add(p, "v"); }), twice);
  expectContains(refusal([&](fb::PlanT &p) { add(p, "v").role = fb::Role::buffer; }), twice);
  // Without a table of segments, a state is a tensor of its own name.
  expectContains(refusal([&](fb::PlanT &p) { add(p, tensor).segments.clear(); }),
                 "state '" + tensor + "' holds the tensor '" + tensor + "', which state 'w' holds too");
  // A tensor is read by its other names, too.
  expectContains(refusal([&](fb::PlanT &p) {
                   add(p, "v").segments[0]->name = "other";
                   p.states[1]->segments[0]->aliases = {tensor};
                 }),
                 twice);
  expectContains(refusal([&](fb::PlanT &p) { p.states[0]->segments[0]->aliases = {tensor}; }),
                 "state 'w' holds the tensor '" + tensor + "', which it holds already");
  for (auto change : {+[](fb::StateT &s) { s.role = fb::Role::gradient; },
                      +[](fb::StateT &s) { s.role = fb::Role::optimizer, s.slot = "momentum"; },
                      +[](fb::StateT &s) { s.role = fb::Role::buffer, s.slot = "before"; },
                      +[](fb::StateT &s) { s.segments[0]->name = "other"; }}) {
    PlanBuilder b = makePlan();
    change(add(b.plan, "v"));
    b.open();
  }
  // On two kinds of ranks, two states hold it, or one state under other names.
  expectContains(refusal([&](fb::PlanT &p) { addKind(p).states[0]->name = "v"; }), twice);
  expectContains(refusal([&](fb::PlanT &p) { addKind(p).states[0]->segments[0]->aliases = {"tied"}; }),
                 "kind 'other' has another state 'w' than kind ''");
}

TEST(PlanReader, LetsAKernelWorkInPlaceWhereItsDefinitionSaysSo) {
  auto open = [](uint64_t offset, uint64_t update) {
    PlanBuilder b;
    unsigned data = b.region("data", fb::RegionKind::persistent, 4096);
    int64_t put = b.kernel(fb::KernelKind::builtin, "put_add", {0, int64_t(fb::DType::i32), 1, 4, 2, 3});
    b.add(b.program("infer"), Opcode::Launch, 0,
          {b.buffer(data, 0, 32), b.buffer(data, 64, 12), b.buffer(data, update, 24), b.buffer(data, offset, 32)},
          {put});
    const fb::Plan *plan = nullptr;
    return b.tryOpen(&plan).message();
  };
  EXPECT_EQ(open(256, 128), "");
  EXPECT_EQ(open(0, 128), ""); // y is x
  expectContains(open(16, 128), "kernel put_add cannot work in place: buffer 0 (x) and buffer 3 (y) overlap");
  expectContains(open(0, 0), "kernel put_add cannot work in place");
}

TEST(PlanReader, ChecksTheOperandsOfAKernel) {
  expectContains(
      refusal([](fb::PlanT &p) { p.kernels[1]->operands[2] = fb::Operand(64, 4, fb::Access::write, fb::DType::u8); }),
      "kernel 1 'k0': its operand 2");
  expectContains(
      refusal([](fb::PlanT &p) { p.kernels[1]->operands[2] = fb::Operand(64, 3, fb::Access::write, fb::DType::u8); }),
      "its operand 2 is over 2");
  expectContains(
      refusal([](fb::PlanT &p) { p.kernels[1]->operands[2] = fb::Operand(64, 2, fb::Access::write, fb::DType::u8); }),
      "of as many bytes");
  expectContains(
      refusal([](fb::PlanT &p) { p.kernels[1]->operands[1] = fb::Operand(256, 0, fb::Access(9), fb::DType::u8); }),
      "has no known access");
  expectContains(refusal([](fb::PlanT &p) {
                   p.kernels[1]->operands.assign(1 << 16, fb::Operand(4, 0, fb::Access::read, fb::DType::u8));
                 }),
                 "65536 operands");
}

// FlatBuffers' own verifier accepts it.
TEST(PlanReader, RefusesElementsThatAreNotAligned) {
  PlanBuilder b = makePlan();
  std::vector<uint64_t> bytes = b.pack();
  const auto *kernel = reinterpret_cast<const flatbuffers::Table *>(fb::GetPlan(bytes.data())->kernels()->Get(1));
  auto *offset = const_cast<uint8_t *>(kernel->GetAddressOf(fb::Kernel::VT_OPERANDS));
  auto *moved = offset + flatbuffers::ReadScalar<uint32_t>(offset) + 4;
  flatbuffers::WriteScalar<uint32_t>(offset, static_cast<uint32_t>(moved - offset));
  flatbuffers::WriteScalar<uint32_t>(moved, 1); // its length
  const fb::Plan *plan = nullptr;
  expectContains(openPlan(bytes.data(), b.packedSize(), &plan).message(), "not aligned to their type");
}

// For any bytes, the reader must return and not crash. A plan that it accepts can be printed and summarized.
TEST(PlanReader, SurvivesDamage) {
  PlanBuilder b = makePlan();
  const std::vector<uint64_t> good = b.pack();
  std::mt19937 random(7);
  const fb::Plan *plan = nullptr;
  for (size_t size = 0; size + 8 < b.packedSize(); ++size) // the last bytes are padding
    EXPECT_FALSE(openPlan(good.data(), size, &plan).isOk()) << size;
  int passed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint64_t> bad = good;
    auto *bytes = reinterpret_cast<uint8_t *>(bad.data());
    for (unsigned i = 0, edits = 1 + random() % 4; i < edits; ++i)
      bytes[random() % b.packedSize()] = static_cast<uint8_t>(random() % 2 ? random() : 0xff);
    if (openPlan(bad.data(), b.packedSize(), &plan).isOk()) {
      ++passed;
      EXPECT_FALSE(printPlan(*plan).empty());
      EXPECT_FALSE(summaryJson(*plan, summarize(*plan)).empty());
    }
  }
  EXPECT_GT(passed, 0); // a plan with a changed name is still valid
}

TEST(PlanPrinter, PrintsEveryPart) {
  PlanBuilder b = makePlan();
  std::string text = printPlan(b.open());
  expectContains(text, "axis dp 2\naxis tp 3\n");
  expectContains(text, "region transient transient bytes 8192 frames 2\n");
  expectContains(text, "state @w parameter f32[12] at params[0x0] split tp\n");
  expectContains(text, "  segment \"layer.\\\"weight\\\"\" [2,5] at 0");
  expectContains(text, "program @train_step entry events 1 {\n  launch @matmul.0 stream compute rw params[0x0:4] ");
  expectContains(text, " // \"layer/MatMul\"\n  record stream compute event 0\n  wait stream reduce event 0\n"
                       "  call @micro stream compute times 3 first_frame 0\n}\n");
  expectContains(text, "  all_reduce stream reduce rw transient[0x0:400] rw transient[0x190:200] group 0 dtype f32 "
                       "reduction 0 algorithm 0 count 100 // \"bucket.0\"\n");
  expectContains(text, "kernel @k0.1 generated code 0x0 extent 16 flops 0 bytes 0 params [] operands [r 64 u8, r 256 "
                       "u8, w 64 u8 over 0]\n");
}

TEST(PlanSummary, CountsMemoryAndTraffic) {
  PlanBuilder b = makePlan();
  const fb::Plan &plan = b.open();
  PlanSummary summary = summarize(plan);
  EXPECT_EQ(summary.totalBytes, 4096u + 2 * 8192u);
  EXPECT_EQ(summary.bytesByKind["transient"], 2 * 8192u);
  EXPECT_EQ(summary.bytesByRole["parameter"], 16u);
  EXPECT_EQ(summary.parameters, 10u);
  EXPECT_EQ(summary.programs[0].sentBytes, 3 * 400u); // 2*(2-1)/2 * 400 bytes, three times
  EXPECT_EQ(summary.programs[0].sentByGroup["dp"], 3 * 400u);
  EXPECT_EQ(summary.programs[0].collectives["all_reduce"], 3u);
  EXPECT_EQ(summary.programs[0].flops, 2u);
  auto json = nlohmann::json::parse(summaryJson(plan, summary));
  EXPECT_EQ(json["programs"][0]["sent_bytes"], 1200);
  EXPECT_EQ(json["memory"]["total"], 4096 + 2 * 8192);
  expectContains(printSummary(plan, summary),
                 " instructions, 2 FLOP, sends 1.2 KiB (1200 bytes) per rank, 3 all_reduce");
}

TEST(PlanSummary, ModelsWithoutABatchSaySo) {
  PlanBuilder b = makePlan();
  b.plan.batch = 4;
  b.plan.micro_batches = 3;
  const fb::Plan &batched = b.open();
  expectContains(printSummary(batched, summarize(batched)), "10 parameters, batch 4 x 3 per rank\n");
  PlanBuilder c = makePlan();
  c.plan.batch = 0;
  c.plan.micro_batches = 1;
  const fb::Plan &single = c.open();
  expectContains(printSummary(single, summarize(single)), "10 parameters, no batch dimension\n");
}

struct Input {
  fb::DType type;
  std::vector<int64_t> shape;
  int batchDim = 0;
};

uint64_t tokensOf(const std::vector<Input> &inputs) {
  flatbuffers::FlatBufferBuilder builder;
  fb::ProgramT program;
  for (const Input &input : inputs) {
    program.inputs.push_back(std::make_unique<fb::PortT>());
    program.inputs.back()->dtype = input.type;
    program.inputs.back()->shape = input.shape;
    program.inputs.back()->batch_dim = input.batchDim;
  }
  builder.Finish(fb::CreateProgram(builder, &program));
  return tokensPerSample(*flatbuffers::GetRoot<fb::Program>(builder.GetBufferPointer()));
}

TEST(Tokens, SequencesOfIntegersAndNothingElse) {
  using T = fb::DType;
  EXPECT_EQ(tokensOf({{T::i64, {4, 16}}, {T::i64, {4, 16}}}), 16u);               // labels of tokens
  EXPECT_EQ(tokensOf({{T::i32, {4, 16}}, {T::i64, {4}}, {T::f32, {4, 1}}}), 16u); // a class, a weight
  EXPECT_EQ(tokensOf({{T::i64, {16, 4}, 1}, {T::i64, {1, 16}, -1}, {T::boolean, {4, 16, 16}}}), 16u); // a mask
  EXPECT_EQ(tokensOf({{T::i64, {4, 26}}, {T::f32, {4, 13}}, {T::f32, {4}}}), 0u);                     // a recommender
  EXPECT_EQ(tokensOf({{T::i64, {4, 26}}, {T::i64, {4, 3}}}), 0u);
  EXPECT_EQ(tokensOf({{T::f32, {4, 13}}, {T::i64, {4, 26}}}), 0u);
  EXPECT_EQ(tokensOf({{T::u8, {4, 3, 8, 8}}, {T::i64, {4}}}), 0u); // images
  EXPECT_EQ(tokensOf({{T::u8, {4, 3, 8, 8}}, {T::i64, {4, 77}}}), 0u);
  EXPECT_EQ(tokensOf({}), 0u);
}

} // namespace

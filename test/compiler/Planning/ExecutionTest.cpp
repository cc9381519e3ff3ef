// Tests what the abstract run knows about frames, shares, inputs and calls.
#include "compiler/Planning/Verify/Facts/CollectiveMeaning.h"

#include "test/compiler/Planning/FindingsOf.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cleave::plan {
namespace {

namespace fb = rt::fb;
using rt::Opcode;
using rt::test::PlanBuilder;

constexpr auto kRead = fb::Access::read, kWrite = fb::Access::write, kBoth = fb::Access::read_write;

::testing::AssertionResult contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos ? ::testing::AssertionSuccess()
                                              : ::testing::AssertionFailure() << "no '" << part << "' in:\n"
                                                                              << text;
}

// The program must be refused for its length, and for no other reason.
void expectTooLong(const std::string &text, const std::string &program) {
  EXPECT_TRUE(contains(text, "too long: " + program + " runs more than 4194304 instructions"));
  EXPECT_TRUE(contains(text, "use fewer micro-batches or chunks\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

void addPort(std::vector<std::unique_ptr<fb::PortT>> &ports, const char *name, unsigned region, uint64_t offset,
             int64_t elements) {
  ports.push_back(std::make_unique<fb::PortT>());
  ports.back()->name = name;
  ports.back()->shape = {elements};
  ports.back()->region = static_cast<uint16_t>(region);
  ports.back()->offset = offset;
}

// `fwd` writes a residual into its frame, and `bwd` reads it.
std::string frames(std::vector<int64_t> forward, std::vector<int64_t> backward) {
  PlanBuilder builder;
  unsigned residual = builder.region("residual", fb::RegionKind::residual, 64, 8);
  unsigned transient = builder.region("transient", fb::RegionKind::transient, 64);
  PlanBuilder::add(builder.program("fwd", 0, false), Opcode::Fill, 0, {PlanBuilder::buffer(residual, 0, 64, kWrite)},
                   {0, 4});
  PlanBuilder::add(builder.program("bwd", 0, false), Opcode::Copy, 0,
                   {PlanBuilder::buffer(transient, 0, 64, kWrite), PlanBuilder::buffer(residual, 0, 64, kRead)}, {});
  fb::ProgramT &entry = builder.program("train_step");
  PlanBuilder::add(entry, Opcode::Call, 0, {}, {0, forward[0], forward[1], 0});
  PlanBuilder::add(entry, Opcode::Call, 0, {}, {1, backward[0], backward[1], 0});
  return findingsOf(builder);
}

TEST(Execution, RunsCallsInEveryFrame) {
  EXPECT_EQ(frames({8, 0}, {8, 0}), "");
  EXPECT_EQ(frames({8, 0}, {1, 7}), "");
  EXPECT_TRUE(contains(frames({3, 0}, {8, 0}), "uninitialized"));
  EXPECT_TRUE(contains(frames({7, 0}, {1, 7}), "uninitialized"));
}

TEST(Execution, EndsWhereCallsMultiply) {
  PlanBuilder builder;
  unsigned transient = builder.region("transient", fb::RegionKind::transient, 64);
  for (int64_t i = 0; i < 25; ++i) {
    fb::ProgramT &program = builder.program("p" + std::to_string(i), 0, i == 24);
    PlanBuilder::add(program, Opcode::Fill, 0, {PlanBuilder::buffer(transient, 0, 64, kWrite)}, {0, 4});
    if (i > 0)
      PlanBuilder::add(program, Opcode::Call, 0, {}, {i - 1, 3, 0, 0});
  }
  expectTooLong(findingsOf(builder), "p24");
}

// Bodies that do nothing call each other a million times. Each one is examined once.
TEST(Execution, EndsWhereEmptyCallsMultiply) {
  PlanBuilder builder;
  builder.region("residual", fb::RegionKind::residual, 64, 3);
  for (int64_t i = 0; i < 4; ++i) {
    fb::ProgramT &program = builder.program("p" + std::to_string(i), 0, i == 3);
    if (i > 0)
      PlanBuilder::add(program, Opcode::Call, 0, {}, {i - 1, 1 << 20, 0, 0});
  }
  EXPECT_EQ(findingsOf(builder), "");
}

// A share of tp, and then a share of dp over the same bytes: the first one is not a share any more.
std::string sharesOfTwoGroups(bool isFilledBefore) {
  PlanBuilder builder({{"dp", 2}, {"tp", 2}});
  unsigned persistent = builder.region("persistent", fb::RegionKind::persistent, 32);
  unsigned input = builder.region("input", fb::RegionKind::input, 64);
  unsigned transient = builder.region("transient", fb::RegionKind::transient, 64);
  builder.state("w", fb::DType::f32, 16, persistent).split_axes = {1};
  auto dp = static_cast<uint16_t>(builder.group({0}) + 1), tp = static_cast<uint16_t>(builder.group({1}) + 1);
  auto share = [&](uint16_t group, fb::Access access) {
    return fb::Buffer(0, 32, static_cast<uint16_t>(transient), access, group, 0, 32);
  };
  fb::ProgramT &program = builder.program("train_step");
  addPort(program.inputs, "x", input, 0, 8);
  program.inputs[0]->batch_dim = 0;
  program.inputs[0]->split_axes = builder.plan.data_axes = {0};
  PlanBuilder::add(program, Opcode::Fill, 0, {PlanBuilder::buffer(transient, 0, 64, kWrite)}, {0, 4});
  if (isFilledBefore)
    PlanBuilder::add(program, Opcode::Fill, 0, {share(tp, kWrite)}, {0, 4});
  PlanBuilder::add(program, Opcode::Copy, 0, {share(dp, kWrite), PlanBuilder::buffer(input, 0, 32, kRead)}, {});
  PlanBuilder::add(program, Opcode::Copy, 0, {PlanBuilder::buffer(persistent, 0, 32, kWrite), share(tp, kRead)}, {});
  return findingsOf(builder);
}

TEST(Execution, AShareChangesThoseOfOtherGroups) {
  EXPECT_TRUE(contains(sharesOfTwoGroups(false), "replica: state 'w'"));
  EXPECT_TRUE(contains(sharesOfTwoGroups(true), "replica: state 'w'"));
}

TEST(Execution, ReducesNoShares) {
  PlanBuilder builder({{"dp", 2}, {"tp", 2}});
  unsigned transient = builder.region("transient", fb::RegionKind::transient, 128);
  unsigned staging = builder.region("communication", fb::RegionKind::communication, 32);
  int64_t dp = builder.group({0}), tp = builder.group({1});
  fb::Buffer share(0, 64, static_cast<uint16_t>(transient), kBoth, static_cast<uint16_t>(tp + 1), 0, 64);
  PlanBuilder::add(builder.program("train_step"), Opcode::ReduceScatter, 0,
                   {share, PlanBuilder::buffer(staging, 0, 32, kWrite)}, {dp, 0, 0, 0, 16});
  EXPECT_TRUE(contains(findingsOf(builder), "its data is a share"));
}

// Two entries use one input region, and only one of them feeds it.
TEST(Execution, FeedsTheInputsOfItsEntry) {
  PlanBuilder builder;
  unsigned input = builder.region("input", fb::RegionKind::input, 64);
  unsigned output = builder.region("output", fb::RegionKind::output, 64);
  for (const char *name : {"infer", "evaluate"}) {
    fb::ProgramT &program = builder.program(name);
    if (name == std::string("infer"))
      addPort(program.inputs, "x", input, 0, 16);
    PlanBuilder::add(program, Opcode::Copy, 0,
                     {PlanBuilder::buffer(output, 0, 64, kWrite), PlanBuilder::buffer(input, 0, 64, kRead)}, {});
  }
  std::string text = findingsOf(builder);
  EXPECT_TRUE(contains(text, "uninitialized: evaluate[0]"));
  EXPECT_FALSE(contains(text, "uninitialized: infer[0]"));
}

// The table has all collectives and nothing else, and a root exactly if the instruction has one.
TEST(CollectiveMeaningTest, isThatOfTheInstructionSet) {
  for (const rt::OpcodeInfo &info : rt::opcodes()) {
    const CollectiveMeaning *meaning = meaningOf(info.opcode);
    EXPECT_EQ(meaning != nullptr, rt::isCollective(info.opcode)) << info.mnemonic;
    bool isRooted = meaning && (meaning->needs == DataPart::OfRoot || meaning->leaves == DataPart::OfRoot);
    EXPECT_EQ(isRooted, rt::fieldIndex(info.opcode, "root") >= 0) << info.mnemonic;
  }
}

} // namespace
} // namespace cleave::plan

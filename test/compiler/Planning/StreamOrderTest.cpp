#include "compiler/Planning/Draft/StreamOrder.h"
#include "compiler/Planning/Draft/Liveness.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <string>

namespace cleave::plan {
namespace {

MemoryAccess reads(unsigned allocation) { return {allocation, 0, 64, true, false, false}; }
MemoryAccess writes(unsigned allocation) { return {allocation, 0, 64, false, true, false}; }
MemoryAccess updates(unsigned allocation) { return {allocation, 0, 64, true, true, false}; }

DraftInstruction work(unsigned stream, std::vector<MemoryAccess> uses, size_t payload, bool early = false) {
  DraftInstruction instruction;
  instruction.stream = stream;
  instruction.uses = std::move(uses);
  instruction.payload = payload;
  instruction.early = early;
  return instruction;
}

// "c0 c1 r0! r?0 R2": the stream, then the payload; `!event` for a record, `?event` for a wait.
std::string text(const std::vector<DraftInstruction> &instructions) {
  std::string result;
  for (const DraftInstruction &instruction : instructions) {
    result += result.empty() ? "" : " ";
    result += instruction.stream == kComputeStream ? "c" : "r";
    result += instruction.kind == InstructionKind::Record ? "!" + std::to_string(instruction.event)
              : instruction.kind == InstructionKind::Wait ? "?" + std::to_string(instruction.event)
                                                          : std::to_string(instruction.payload);
  }
  return result;
}

TEST(Schedule, HoistsBehindTheLastConflict) {
  std::vector<DraftInstruction> instructions = {work(0, {writes(0)}, 0), work(0, {writes(1)}, 1),
                                                work(0, {writes(2)}, 2), work(1, {updates(1)}, 3, true),
                                                work(1, {updates(0)}, 4, true)};
  hoistEarly(instructions);
  EXPECT_EQ(text(instructions), "c0 r4 c1 r3 c2");
}

TEST(Schedule, StagingDoesNotHoldACollectiveBack) {
  MemoryAccess staging = writes(9);
  staging.scratch = true;
  std::vector<DraftInstruction> instructions = {work(0, {writes(0)}, 0), work(0, {writes(1)}, 1),
                                                work(1, {updates(1), staging}, 2, true),
                                                work(1, {updates(0), staging}, 3, true)};
  hoistEarly(instructions);
  EXPECT_EQ(text(instructions), "c0 r3 c1 r2");
}

// Does what the header says about hoistEarly: each early instruction moves up, one instruction at a time.
void walkUp(std::vector<DraftInstruction> &instructions) {
  for (size_t i = 0; i < instructions.size(); ++i) {
    size_t to = i;
    auto isBefore = [&](const DraftInstruction &instruction) {
      return conflict(instruction, instructions[i], /*countScratch=*/false) ||
             llvm::is_contained(instructions[i].after, instruction.payload);
    };
    while (instructions[i].early && to > 0 && !isBefore(instructions[to - 1]))
      --to;
    while (to < i && instructions[to].early)
      ++to;
    std::rotate(instructions.begin() + to, instructions.begin() + i, instructions.begin() + i + 1);
  }
}

TEST(Schedule, HoistsAsByWalking) {
  std::mt19937 random(7);
  auto below = [&](unsigned end) { return static_cast<unsigned>(random() % end); };
  for (int round = 0; round < 300; ++round) {
    std::vector<DraftInstruction> instructions;
    for (unsigned payload = 0; payload < 40; ++payload) {
      std::vector<MemoryAccess> uses;
      for (unsigned use = below(3); use > 0; --use)
        uses.push_back({below(8), 64 * below(3), 64, below(2) == 0, below(2) == 0, below(4) == 0});
      instructions.push_back(work(below(2), std::move(uses), payload, below(2) == 0));
      if (below(10) == 0)
        instructions.back().after.push_back(below(40));
      if (below(20) == 0)
        instructions.back().kind = InstructionKind::Barrier;
    }
    std::vector<DraftInstruction> expected = instructions;
    walkUp(expected);
    hoistEarly(instructions);
    ASSERT_EQ(text(instructions), text(expected)) << round;
  }
}

TEST(Schedule, OrdersConflictsOnce) {
  std::vector<DraftInstruction> instructions = {work(0, {writes(0)}, 0), work(1, {updates(0)}, 1),
                                                work(0, {writes(5)}, 2), work(0, {reads(0)}, 3),
                                                work(0, {reads(0)}, 4)};
  EXPECT_EQ(synchronize(instructions, kStreams), 2u);
  EXPECT_EQ(text(instructions), "c0 c!0 r?0 r1 r!1 c2 c?1 c3 c4");
}

TEST(Schedule, JoinsStreamsAtStartAndEnd) {
  std::vector<DraftInstruction> instructions = {work(0, {writes(0)}, 0), work(1, {updates(7)}, 1)};
  EXPECT_EQ(synchronize(instructions, kStreams), 2u);
  EXPECT_EQ(text(instructions), "c!0 c0 r?0 r1 r!1 c?1");
}

TEST(Schedule, LaterWaitsCoverEarlierOnes) {
  // DraftInstruction 2 reads the results of both collectives. Waiting for the second one is enough.
  std::vector<DraftInstruction> instructions = {work(1, {updates(0)}, 0), work(1, {updates(1)}, 1),
                                                work(0, {reads(0), reads(1)}, 2)};
  synchronize(instructions, kStreams);
  EXPECT_EQ(text(instructions), "c!0 r?0 r0 r1 r!1 c?1 c2");
}

TEST(Liveness, AnotherStreamHoldsBytesUntilItIsJoined) {
  std::vector<DraftInstruction> instructions = {work(0, {writes(0)}, 0), work(1, {updates(0)}, 1),
                                                work(0, {writes(1)}, 2), work(0, {reads(2)}, 3)};
  synchronize(instructions, kStreams); // c0 c!0 r?0 r1 r!1 c2 c3 c?1
  std::vector<std::optional<Span>> spans = liveSpans(instructions, 4);
  ASSERT_TRUE(spans[0] && spans[1]);
  EXPECT_EQ(spans[0]->first, 0u);
  EXPECT_EQ(spans[0]->last, instructions.size() - 1);
  EXPECT_TRUE(spans[0]->overlaps(*spans[1])) << "the collective may still run beside step 2";
  EXPECT_FALSE(spans[3]);
}

} // namespace
} // namespace cleave::plan

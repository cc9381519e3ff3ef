#include "compiler/Planning/Draft/Schedule.h"
#include "compiler/Planning/Draft/Liveness.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <string>

namespace cleave::plan {
namespace {

RootUse reads(unsigned root) { return {root, 0, 64, true, false, false}; }
RootUse writes(unsigned root) { return {root, 0, 64, false, true, false}; }
RootUse updates(unsigned root) { return {root, 0, 64, true, true, false}; }

Step work(unsigned stream, std::vector<RootUse> uses, size_t payload, bool early = false) {
  Step step;
  step.stream = stream;
  step.uses = std::move(uses);
  step.payload = payload;
  step.early = early;
  return step;
}

// "c0 c1 r0! r?0 R2": stream, then payload, `!event` for a record, `?event` for a wait.
std::string text(const std::vector<Step> &steps) {
  std::string result;
  for (const Step &step : steps) {
    result += result.empty() ? "" : " ";
    result += step.stream == kComputeStream ? "c" : "r";
    result += step.kind == StepKind::Record ? "!" + std::to_string(step.event)
              : step.kind == StepKind::Wait ? "?" + std::to_string(step.event)
                                            : std::to_string(step.payload);
  }
  return result;
}

TEST(Schedule, HoistsBehindTheLastConflict) {
  std::vector<Step> steps = {work(0, {writes(0)}, 0), work(0, {writes(1)}, 1), work(0, {writes(2)}, 2),
                             work(1, {updates(1)}, 3, true), work(1, {updates(0)}, 4, true)};
  hoistSteps(steps);
  EXPECT_EQ(text(steps), "c0 r4 c1 r3 c2");
}

TEST(Schedule, StagingDoesNotHoldACollectiveBack) {
  RootUse staging = writes(9);
  staging.scratch = true;
  std::vector<Step> steps = {work(0, {writes(0)}, 0), work(0, {writes(1)}, 1), work(1, {updates(1), staging}, 2, true),
                             work(1, {updates(0), staging}, 3, true)};
  hoistSteps(steps);
  EXPECT_EQ(text(steps), "c0 r3 c1 r2");
}

// What hoistSteps does, as its header says it: each early step walks up, one step at a time.
void walkUp(std::vector<Step> &steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    size_t to = i;
    auto isBefore = [&](const Step &step) {
      return conflict(step, steps[i], /*countScratch=*/false) || llvm::is_contained(steps[i].after, step.payload);
    };
    while (steps[i].early && to > 0 && !isBefore(steps[to - 1]))
      --to;
    while (to < i && steps[to].early)
      ++to;
    std::rotate(steps.begin() + to, steps.begin() + i, steps.begin() + i + 1);
  }
}

TEST(Schedule, HoistsAsByWalking) {
  std::mt19937 random(7);
  auto below = [&](unsigned end) { return static_cast<unsigned>(random() % end); };
  for (int round = 0; round < 300; ++round) {
    std::vector<Step> steps;
    for (unsigned payload = 0; payload < 40; ++payload) {
      std::vector<RootUse> uses;
      for (unsigned use = below(3); use > 0; --use)
        uses.push_back({below(8), 64 * below(3), 64, below(2) == 0, below(2) == 0, below(4) == 0});
      steps.push_back(work(below(2), std::move(uses), payload, below(2) == 0));
      if (below(10) == 0)
        steps.back().after.push_back(below(40));
      if (below(20) == 0)
        steps.back().kind = StepKind::Barrier;
    }
    std::vector<Step> expected = steps;
    walkUp(expected);
    hoistSteps(steps);
    ASSERT_EQ(text(steps), text(expected)) << round;
  }
}

TEST(Schedule, OrdersConflictsOnce) {
  std::vector<Step> steps = {work(0, {writes(0)}, 0), work(1, {updates(0)}, 1), work(0, {writes(5)}, 2),
                             work(0, {reads(0)}, 3), work(0, {reads(0)}, 4)};
  EXPECT_EQ(synchronize(steps, kStreams), 2u);
  EXPECT_EQ(text(steps), "c0 c!0 r?0 r1 r!1 c2 c?1 c3 c4");
}

TEST(Schedule, JoinsStreamsAtStartAndEnd) {
  std::vector<Step> steps = {work(0, {writes(0)}, 0), work(1, {updates(7)}, 1)};
  EXPECT_EQ(synchronize(steps, kStreams), 2u);
  EXPECT_EQ(text(steps), "c!0 c0 r?0 r1 r!1 c?1");
}

TEST(Schedule, LaterWaitsCoverEarlierOnes) {
  // Step 2 reads what both collectives made: waiting for the second is enough.
  std::vector<Step> steps = {work(1, {updates(0)}, 0), work(1, {updates(1)}, 1), work(0, {reads(0), reads(1)}, 2)};
  synchronize(steps, kStreams);
  EXPECT_EQ(text(steps), "c!0 r?0 r0 r1 r!1 c?1 c2");
}

TEST(Liveness, AnotherStreamHoldsBytesUntilItIsJoined) {
  std::vector<Step> steps = {work(0, {writes(0)}, 0), work(1, {updates(0)}, 1), work(0, {writes(1)}, 2),
                             work(0, {reads(2)}, 3)};
  synchronize(steps, kStreams); // c0 c!0 r?0 r1 r!1 c2 c3 c?1
  std::vector<std::optional<Span>> spans = liveSpans(steps, 4);
  ASSERT_TRUE(spans[0] && spans[1]);
  EXPECT_EQ(spans[0]->first, 0u);
  EXPECT_EQ(spans[0]->last, steps.size() - 1);
  EXPECT_TRUE(spans[0]->overlaps(*spans[1])) << "the collective may still run beside step 2";
  EXPECT_FALSE(spans[3]);
}

} // namespace
} // namespace cleave::plan

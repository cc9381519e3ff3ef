// Properties of all schedules, over many numbers of ranks, micro-batches and chunks.
#include "compiler/Pipeline/Schedules.h"
#include "compiler/Pipeline/Check.h"
#include "test/compiler/Pipeline/Formulas.h"
#include "test/compiler/Pipeline/Frames.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

namespace cleave::pipeline {
namespace {

// Calls `use` for every kind with every request of a range that the kind accepts. Returns the number of calls.
template <typename Use> int forAll(Use use, Costs costs = {}) {
  int count = 0;
  for (const ScheduleKind &kind : scheduleKinds())
    for (int ranks = 1; ranks <= 9; ++ranks)
      for (int microBatches : {1, 2, 3, 5, 8, 12, 16, 18, 27})
        for (int chunks = kind.leastChunks; chunks <= std::min(kind.mostChunks, 4); ++chunks) {
          ScheduleRequest request{ranks, microBatches, chunks, costs};
          Result<Schedule> schedule = makeSchedule(kind.name, request);
          if (!schedule)
            continue;
          SCOPED_TRACE(std::string(kind.name) + " p=" + std::to_string(ranks) + " m=" + std::to_string(microBatches) +
                       " v=" + std::to_string(chunks));
          use(*schedule, request);
          ++count;
        }
  return count;
}

ChunkGraph chainOf(const Schedule &schedule) { return ChunkGraph::chain(schedule.numChunks()); }

TEST(Schedules, AllPassTheChecker) {
  int count = forAll([](const Schedule &schedule, const ScheduleRequest &request) {
    auto found = checkSchedule(schedule, chainOf(schedule));
    EXPECT_FALSE(found) << found->problem.message;
    EXPECT_EQ(schedule.numRanks(), request.ranks);
    EXPECT_EQ(schedule.numChunks(), request.ranks * request.chunksPerRank);
  });
  EXPECT_GT(count, 450);
}

TEST(Schedules, IdleShareIsTheFormulas) {
  std::map<std::string, int> compared;
  for (TaskCosts all :
       {TaskCosts{1, 1, 1}, TaskCosts{1, 1, 0.5}, TaskCosts{2, 3, 1}, TaskCosts{1.5, 1.25, 1}, TaskCosts{1, 2, 3}}) {
    Costs costs;
    costs.all = all;
    forAll(
        [&](const Schedule &schedule, const ScheduleRequest &request) {
          std::optional<double> expected = expectedIdleShare(schedule.name, request);
          if (!expected)
            return;
          double share = isExpectedInARow(schedule.name) ? idleShareInARow(schedule, chainOf(schedule), costs)
                                                         : idleShare(simulate(schedule, chainOf(schedule), costs));
          EXPECT_NEAR(share, *expected, 1e-9);
          ++compared[schedule.name];
        },
        costs);
  }
  for (const ScheduleKind &kind : scheduleKinds())
    EXPECT_GT(compared[kind.name], 40) << kind.name;
}

TEST(Schedules, FramesAliveAreTheFormulas) {
  forAll([](const Schedule &schedule, const ScheduleRequest &request) {
    FramesAlive alive = framesAlive(schedule);
    for (int rank = 0; rank < request.ranks; ++rank)
      EXPECT_EQ(alive.ofRank[rank], expectedFrames(schedule.name, request, rank)) << "rank " << rank;
  });
}

TEST(Schedules, GPipeKeepsAllAndOneForwardOneBackwardKeepsRanks) {
  auto most = [](const char *name) {
    FramesAlive alive = framesAlive(*makeSchedule(name, {4, 32, 0, {}}));
    return *std::max_element(alive.ofRank.begin(), alive.ofRank.end());
  };
  EXPECT_EQ(most("gpipe"), 32);
  EXPECT_EQ(most("1f1b"), 4);
  EXPECT_EQ(most("naive"), 1);
}

TEST(Schedules, ZeroBubbleLeavesAtMostOnePercent) {
  ScheduleRequest request{8, 32, 0, {}};
  Result<Schedule> schedule = makeSchedule("zb-h2", request);
  ASSERT_TRUE(schedule);
  EXPECT_LE(idleShareInARow(*schedule, chainOf(*schedule), {}), 0.01);
  // A step alone is a parallelogram: the ranks begin and end one after another.
  EXPECT_NEAR(idleShare(simulate(*schedule, chainOf(*schedule), {})), 7.0 / 103, 1e-9);
}

// With any costs, neither is idle for longer than 1F1B with the same split of the backward pass, and neither keeps more
// frames than its limit.
TEST(Schedules, ZeroBubbleKeepsItsLimitsOnAnyCosts) {
  for (double forward : {0.5, 1.0, 2.0})
    for (double input : {0.5, 1.0, 2.0})
      for (double weight : {0.25, 1.0, 3.0})
        for (double transfer : {0.0, 0.3})
          for (int ranks : {2, 4, 7})
            for (int microBatches : {1, 6, 20}) {
              Costs costs;
              costs.all = {forward, input, weight};
              costs.transfer = transfer;
              ScheduleRequest request{ranks, microBatches, 0, costs};
              Result<Schedule> plain = makeSchedule("1f1b", request);
              Result<Schedule> h1 = makeSchedule("zb-h1", request), h2 = makeSchedule("zb-h2", request);
              ASSERT_TRUE(plain && h1 && h2);
              SCOPED_TRACE(testing::Message() << forward << " " << input << " " << weight << " " << transfer
                                              << " p=" << ranks << " m=" << microBatches);
              auto idle = [&](const Schedule &schedule) { return idleShareInARow(schedule, chainOf(schedule), costs); };
              EXPECT_LE(idle(*h1), idle(*plain) + 1e-9);
              EXPECT_LE(idle(*h2), idle(*h1) + 1e-9);
              for (int rank = 0; rank < ranks; ++rank) {
                EXPECT_LE(framesAlive(*h1).ofRank[rank], ranks);
                EXPECT_LE(framesAlive(*h2).ofRank[rank], 2 * ranks - 1);
              }
            }
}

// Costs differ from stage to stage, so the greedy lists matter. The slowest stage is a lower bound of the period.
TEST(Schedules, ZeroBubbleFollowsUnequalStages) {
  Costs costs;
  costs.ofChunk = {{1, 1, 1}, {1.4, 1.3, 1.1}, {1, 1.2, 0.8}, {1.6, 1.5, 1.9}};
  ScheduleRequest request{4, 24, 0, costs};
  Result<Schedule> plain = makeSchedule("1f1b", request), h2 = makeSchedule("zb-h2", request);
  ASSERT_TRUE(plain && h2);
  double slowest = 24 * (1.6 + 1.5 + 1.9), all = busyTime(*h2, costs);
  double least = 1 - all / (4 * slowest);
  EXPECT_GE(idleShareInARow(*h2, chainOf(*h2), costs), least - 1e-9);
  EXPECT_LE(idleShareInARow(*h2, chainOf(*h2), costs), least + 0.01);
  EXPECT_LT(idleShareInARow(*h2, chainOf(*h2), costs), idleShareInARow(*plain, chainOf(*plain), costs));
}

TEST(Schedules, RequestsThatCannotBeSayWhatWould) {
  auto message = [](const char *name, ScheduleRequest request) {
    Result<Schedule> schedule = makeSchedule(name, request);
    return schedule ? std::string() : schedule.message();
  };
  EXPECT_EQ(message("interleaved-1f1b", {4, 3, 2, {}}),
            "schedule interleaved-1f1b takes micro-batches in rounds of one for each pipeline rank: 3 micro-batches do "
            "not divide "
            "by 4 ranks; use 4 micro-batches, or 1f1b, which takes any number");
  EXPECT_EQ(message("interleaved-1f1b", {4, 10, 2, {}}),
            "schedule interleaved-1f1b takes micro-batches in rounds of one for each pipeline rank: 10 micro-batches "
            "do not divide "
            "by 4 ranks; use 8 or 12 micro-batches, or 1f1b, which takes any number");
  EXPECT_EQ(message("interleaved-1f1b", {4, 8, 1, {}}), "schedule interleaved-1f1b needs at least 2 chunks a rank, got "
                                                        "1: ask for more chunks, or use 1f1b, which needs 1");
  EXPECT_EQ(message("gpipe", {4, 8, 2, {}}), "schedule gpipe needs 1 chunks a rank, got 2: ask for fewer, or use "
                                             "interleaved-1f1b, which takes any number from 2 on");
  EXPECT_EQ(message("dualpipe-v", {4, 7, 0, {}}),
            "schedule dualpipe-v needs at least as many micro-batches as chunks: 8 for 4 pipeline ranks, got 7; use 8 "
            "micro-batches, or 1f1b, which takes any number");
  EXPECT_NE(message("dualpipe-v", {4, 8, 3, {}}), "");
  EXPECT_EQ(message("2f2b", {4, 8, 0, {}}),
            "there is no schedule '2f2b': use one of naive, gpipe, 1f1b, eager-1f1b, interleaved-1f1b, zb-h1, "
            "zb-h2, dualpipe-v, or a file; did you mean '1f1b'?");
  for (const ScheduleKind &kind : scheduleKinds()) {
    EXPECT_NE(message(kind.name, {0, 8, 0, {}}), "");
    EXPECT_NE(message(kind.name, {4, 0, 0, {}}), "");
    EXPECT_NE(message(kind.name, {4, 8, -1, {}}), "");
  }
}

} // namespace
} // namespace cleave::pipeline

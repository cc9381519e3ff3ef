#include "compiler/Simulator/StepTimeline.h"

#include <gtest/gtest.h>

using namespace cleave::plan;

namespace {

StepTimeline timelineOf(std::vector<BodySpan> bodies) {
  StepTimeline timeline;
  timeline.duration = 8;
  timeline.kinds.push_back({"s0", std::move(bodies), 0, {}});
  return timeline;
}

TEST(StepTimeline, TasksAreOfChunksByTheirHalves) {
  auto taskOf = [](const char *program) { return cleave::plan::taskOf({program, 0, 0, 0, 0}); };
  EXPECT_EQ(taskOf("c12.fwd"), "12F");
  EXPECT_EQ(taskOf("c12.fwd.first"), "12F");
  EXPECT_EQ(taskOf("c0.gather"), "0G");
  EXPECT_EQ(taskOf("c0.bwd"), "0B");
  EXPECT_EQ(taskOf("c0.bwd_x"), "0I");
  EXPECT_EQ(taskOf("c0.bwd_w"), "0W");
  EXPECT_EQ(taskOf("update"), "U");
}

TEST(StepTimeline, WideSpansHaveTheirLabelAndNarrowOnesTheLetter) {
  StepTimeline timeline =
      timelineOf({{"c0.gather", 0, 0, 2, 2}, {"c10.fwd", 3, 2, 4, 2}, {"c0.bwd_x", 3, 5, 7, 2}, {"update", 0, 7, 8, 1}});
  EXPECT_EQ(drawTimeline(timeline, 8), "  s0 G|F|.I||\n");
  EXPECT_EQ(drawTimeline(timeline, 24), "  s0 0G0--|10F3-|...0I3--|U-|\n");
}

} // namespace

#include "test/compiler/Pipeline/Frames.h"
#include "compiler/Pipeline/Schedules.h"
#include "test/compiler/Pipeline/Rendezvous.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace cleave::pipeline {
namespace {

TransferFrames most(const CrossingFrames &frames) {
  TransferFrames all{1, 1};
  for (const EdgeFrames &edge : frames.ofEdge) {
    all.sent = std::max({all.sent, edge.sentActivations, edge.sentGradients});
    all.received = std::max({all.received, edge.receivedActivations, edge.receivedGradients});
  }
  return all;
}

TEST(Frames, AreEnoughOnAnyStreams) {
  for (const ScheduleKind &kind : scheduleKinds())
    for (int ranks : {2, 3, 4, 6})
      for (int rounds : {2, 3})
        for (double transfer : {0.0, 0.5}) {
          Costs costs;
          costs.transfer = transfer;
          Result<Schedule> schedule = makeSchedule(kind.name, {ranks, ranks * rounds, 0, costs});
          ASSERT_TRUE(schedule);
          ChunkGraph graph = ChunkGraph::chain(schedule->numChunks());
          if (graph.chunks > 2)
            graph.edges.push_back({0, graph.chunks - 1, true});
          CrossingFrames frames = crossingFrames(*schedule, graph, costs);
          for (PeerStreams streams : {PeerStreams::One, PeerStreams::SendReceive, PeerStreams::PerDirection}) {
            auto problem = checkRendezvous(*schedule, graph, streams, most(frames));
            EXPECT_FALSE(problem) << kind.name << " p=" << ranks << ": " << problem->message;
          }
        }
}

TEST(Frames, OfTheKnownSchedules) {
  auto framesOf = [](const char *name) {
    Result<Schedule> schedule = makeSchedule(name, {4, 16, 0, {}});
    return crossingFrames(*schedule, ChunkGraph::chain(4), {});
  };
  // The first rank is ahead of the second by the warm-up of 1F1B, with any number of micro-batches.
  EXPECT_LE(framesOf("1f1b").ofEdge[0].receivedActivations, 4);
  EXPECT_EQ(framesOf("1f1b").betweenHalves, (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(framesOf("gpipe").ofEdge[0].receivedActivations, 16);
  EXPECT_EQ(framesOf("naive").ofEdge[2].receivedActivations, 1);
  // The last rank delays as many W as ZB-H1 allows, and computes one more.
  EXPECT_GE(framesOf("zb-h1").betweenHalves[3], 4);
}

TEST(Frames, OneRankNeedsNone) {
  Result<Schedule> schedule = makeSchedule("dualpipe-v", {2, 4, 0, {}}); // chunks 1 and 2 are both on rank 1
  ASSERT_TRUE(schedule);
  ChunkGraph graph{4, {{0, 1, true}, {1, 2, true}, {2, 3, false}}};
  CrossingFrames frames = crossingFrames(*schedule, graph, {});
  EXPECT_EQ(frames.ofEdge[1].receivedActivations, 0);
  EXPECT_EQ(frames.ofEdge[2].receivedGradients, 0);
  EXPECT_GT(frames.ofEdge[2].receivedActivations, 0);
}

} // namespace
} // namespace cleave::pipeline

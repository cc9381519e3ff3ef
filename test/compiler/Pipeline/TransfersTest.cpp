#include "compiler/Pipeline/Transfers.h"
#include "compiler/Pipeline/Schedules.h"
#include "test/compiler/Pipeline/Rendezvous.h"

#include <gtest/gtest.h>
#include <random>

namespace cleave::pipeline {
namespace {

constexpr PeerStreams kAllStreams[] = {PeerStreams::One, PeerStreams::SendReceive, PeerStreams::PerDirection};

TEST(Transfers, OneOrderIsFreeOfDeadlockOnAnyStreams) {
  std::mt19937 random(5);
  for (const ScheduleKind &kind : scheduleKinds())
    for (int ranks : {1, 2, 3, 4, 8})
      for (int rounds : {1, 2, 4}) {
        Result<Schedule> schedule = makeSchedule(kind.name, {ranks, ranks * rounds, 0, {}});
        if (!schedule)
          continue;
        // A chain, and skips over any distance.
        for (int skips : {0, 1, 3}) {
          ChunkGraph graph = ChunkGraph::chain(schedule->numChunks());
          for (int i = 0; i < skips && graph.chunks > 2; ++i) {
            int from = static_cast<int>(random() % (graph.chunks - 2));
            int to = from + 2 + static_cast<int>(random() % (graph.chunks - from - 2));
            graph.edges.push_back({from, to, random() % 3 != 0});
          }
          for (PeerStreams streams : kAllStreams) {
            auto problem = checkRendezvous(*schedule, graph, streams);
            EXPECT_FALSE(problem) << kind.name << " p=" << ranks << ": " << problem->message;
          }
        }
      }
}

TEST(Transfers, OnlyEdgesBetweenRanksTransfer) {
  Result<Schedule> schedule = makeSchedule("dualpipe-v", {2, 4, 0, {}}); // chunks 1 and 2 are both on rank 1
  ASSERT_TRUE(schedule);
  std::vector<Transfer> transfers = transfersOf(*schedule, ChunkGraph::chain(4));
  EXPECT_EQ(transfers.size(), 2u * 2 * 4); // edges 0-1 and 2-3, both ways
  for (const Transfer &transfer : transfers)
    EXPECT_NE(transfer.edge, 1);
  // A skip goes directly to its user, and only once. Without a gradient, nothing comes back.
  ChunkGraph skip{4, {{0, 1, true}, {1, 2, true}, {2, 3, true}, {0, 2, false}}};
  EXPECT_EQ(transfersOf(*schedule, skip).size(), 2u * 2 * 4 + 4);
}

TEST(Transfers, FollowTheirProducers) {
  Result<Schedule> schedule = makeSchedule("1f1b", {2, 2, 0, {}});
  ASSERT_TRUE(schedule);
  std::string text;
  for (const Transfer &transfer : transfersOf(*schedule, ChunkGraph::chain(2)))
    text += toString(transfer) + "\n";
  EXPECT_EQ(text, "0F0 -> 1F0 from rank 0 to rank 1\n"
                  "0F1 -> 1F1 from rank 0 to rank 1\n"
                  "1B0 -> 0B0 from rank 1 to rank 0\n"
                  "1B1 -> 0B1 from rank 1 to rank 0\n");
}

// With as many frames as micro-batches, no transfer waits for a frame. With fewer, a value that is sent before its
// receiver can take it blocks the next one.
TEST(Transfers, TooFewFramesAreFound) {
  for (const char *name : {"1f1b", "gpipe", "naive", "zb-h2"})
    for (PeerStreams streams : {PeerStreams::SendReceive, PeerStreams::PerDirection}) {
      Result<Schedule> schedule = makeSchedule(name, {4, 12, 0, {}});
      ASSERT_TRUE(schedule);
      auto problem = checkRendezvous(*schedule, ChunkGraph::chain(4), streams, {12, 12});
      EXPECT_FALSE(problem) << name << problem->message;
    }
  // Rank 0 is ahead by two. Rank 1 uses the skip of chunk 0 in chunk 2, after its own chunk 1 has run both
  // micro-batches.
  Schedule ahead{"", 2, {0, 1, 1}, {}};
  constexpr Action F = Action::Forward, B = Action::Backward;
  ahead.ranks = {
      {{F, 0, 0}, {F, 0, 1}, {B, 0, 0}, {B, 0, 1}, Task::update()},
      {{F, 1, 0}, {F, 1, 1}, {F, 2, 0}, {F, 2, 1}, {B, 2, 0}, {B, 1, 0}, {B, 2, 1}, {B, 1, 1}, Task::update()}};
  ChunkGraph graph{3, {{0, 2, true}, {0, 1, true}, {1, 2, true}}};
  EXPECT_FALSE(checkRendezvous(ahead, graph, PeerStreams::SendReceive, {2, 2}));
  auto problem = checkRendezvous(ahead, graph, PeerStreams::SendReceive, {1, 1});
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->message,
            "sends and receives deadlock:\n"
            "  rank 0: 0B0 waits for the receive of 2B0 -> 0B0 from rank 1 to rank 0\n"
            "  rank 0: transfer 2B0 -> 0B0 from rank 1 to rank 0 waits for 2B0\n"
            "  rank 0: transfer 0F1 -> 2F1 from rank 0 to rank 1 waits for a frame, until 2F0 is done\n"
            "  rank 1: 1F1 waits for the receive of 0F1 -> 1F1 from rank 0 to rank 1\n"
            "  rank 1: transfer 0F1 -> 2F1 from rank 0 to rank 1 waits for a frame, until 2F0 is done\n"
            "  rank 1: transfer 2B0 -> 0B0 from rank 1 to rank 0 waits for 2B0");
}

} // namespace
} // namespace cleave::pipeline

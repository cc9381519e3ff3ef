#include "compiler/Pipeline/Items.h"
#include "compiler/Pipeline/Schedules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace cleave::pipeline {
namespace {

std::string toString(const std::vector<Item> &items) {
  std::string text;
  for (const Item &item : items) {
    std::string name = item.kind == ItemKind::Run    ? pipeline::toString(item.task)
                       : item.kind == ItemKind::Send ? "s" + pipeline::toString(item.task)
                                                     : "r" + pipeline::toString(item.task);
    text += (text.empty() ? "" : " ") + name;
  }
  return text;
}

TEST(Items, TransfersStandBetweenTasks) {
  Result<Schedule> schedule = makeSchedule("1f1b", {2, 3, 0, {}});
  ASSERT_TRUE(schedule);
  auto items = itemsOf(*schedule, ChunkGraph::chain(2));
  EXPECT_EQ(toString(items[0]), "0F0 s0F0 0F1 s0F1 r1B0 0B0 0F2 r1B1 s0F2 0B1 r1B2 0B2");
  // The second activation is requested before the first gradient is computed.
  EXPECT_EQ(toString(items[1]), "r0F0 1F0 r0F1 1B0 s1B0 1F1 1B1 s1B1 r0F2 1F2 1B2 s1B2");
}

// On each rank, a send is after its producer and a receive is before its consumer. Each transfer has both ends.
TEST(Items, EveryScheduleHasEveryTransferInItsPlace) {
  for (const ScheduleKind &kind : scheduleKinds()) {
    int made = 0;
    for (int ranks : {2, 3, 4}) {
      Result<Schedule> schedule = makeSchedule(kind.name, {ranks, 4 * ranks, 0, {}});
      if (!schedule)
        continue;
      ++made;
      ChunkGraph graph = ChunkGraph::chain(schedule->numChunks());
      graph.edges.push_back({0, schedule->numChunks() - 1, true}); // a skip
      auto items = itemsOf(*schedule, graph);
      std::multiset<std::string> sent, received;
      for (int rank = 0; rank < ranks; ++rank) {
        std::vector<Task> run;
        for (const Item &item : items[rank]) {
          std::string key = std::to_string(item.edge) + (item.gradient ? "g" : "a") + pipeline::toString(item.task);
          if (item.kind == ItemKind::Run) {
            run.push_back(item.task);
            continue;
          }
          (item.kind == ItemKind::Send ? sent : received).insert(key);
          bool isMade = std::find(run.begin(), run.end(), item.task) != run.end();
          EXPECT_EQ(isMade, item.kind == ItemKind::Send) << kind.name << " " << key;
          const ChunkEdge &edge = graph.edges[item.edge];
          for (const Task &task : run)
            if (item.kind == ItemKind::Receive && task.microBatch == item.microBatch())
              EXPECT_FALSE(item.gradient ? task.chunk == edge.from && task.action != Action::Forward
                                         : task.chunk == edge.to)
                  << kind.name << " " << key << " is received after " << pipeline::toString(task);
        }
        EXPECT_EQ(run.size() + 1, schedule->ranks[rank].size()); // all tasks but the update
      }
      EXPECT_EQ(sent, received) << kind.name;
      EXPECT_FALSE(sent.empty());
    }
    EXPECT_GT(made, 0) << kind.name;
  }
}

} // namespace
} // namespace cleave::pipeline

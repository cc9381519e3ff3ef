// Compares the checker with a second definition of the same property, on schedules with random changes.
#include "compiler/Pipeline/Check.h"
#include "compiler/Pipeline/Schedules.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace cleave::pipeline {
namespace {

using Name = std::tuple<char, int, int>; // a result: F, I or W of a chunk and micro-batch

// The results of a task, in order.
std::vector<Name> parts(const Task &task) {
  switch (task.action) {
  case Action::Forward:
    return {{'F', task.chunk, task.microBatch}};
  case Action::Backward:
    return {{'I', task.chunk, task.microBatch}, {'W', task.chunk, task.microBatch}};
  case Action::BackwardInput:
    return {{'I', task.chunk, task.microBatch}};
  case Action::BackwardWeight:
    return {{'W', task.chunk, task.microBatch}};
  case Action::Update:
    break;
  }
  return {};
}

// True if some order of all tasks, which keeps the order of each rank's list, computes every result once and after its
// inputs. This uses sets of results, without the tables of the checker.
bool isRunnable(const Schedule &schedule, const ChunkGraph &graph) {
  std::set<Name> computed;
  std::vector<size_t> position(schedule.ranks.size());
  auto ready = [&](const Task &task) {
    for (auto [kind, chunk, i] : parts(task)) {
      if (kind == 'W' && task.action == Action::BackwardWeight && !computed.count({'I', chunk, i}))
        return false;
      if (kind == 'I' && !computed.count({'F', chunk, i}))
        return false;
      if (i > 0 && !computed.count({kind, chunk, i - 1}))
        return false;
      for (const ChunkEdge &edge : graph.edges) {
        if (kind == 'F' && edge.to == chunk && !computed.count({'F', edge.from, i}))
          return false;
        if (kind == 'I' && edge.gradient && edge.from == chunk && !computed.count({'I', edge.to, i}))
          return false;
      }
    }
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
      while (position[rank] < schedule.ranks[rank].size()) {
        const Task &task = schedule.ranks[rank][position[rank]];
        if (task.action == Action::Update && position[rank] + 1 != schedule.ranks[rank].size())
          return false;
        if (task.action != Action::Update &&
            (task.chunk < 0 || task.chunk >= schedule.numChunks() || task.microBatch < 0 ||
             task.microBatch >= schedule.microBatches || schedule.rankOfChunk[task.chunk] != static_cast<int>(rank)))
          return false;
        if (!ready(task))
          break;
        for (const Name &name : parts(task))
          if (!computed.insert(name).second)
            return false;
        ++position[rank];
        moved = true;
      }
  }
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    if (schedule.ranks[rank].empty() || position[rank] != schedule.ranks[rank].size() ||
        schedule.ranks[rank].back().action != Action::Update)
      return false;
  return computed.size() == static_cast<size_t>(schedule.numChunks()) * schedule.microBatches * 3;
}

Task &anyTask(Schedule &schedule, std::mt19937 &random) {
  std::vector<Task> &list = schedule.ranks[random() % schedule.ranks.size()];
  return list[random() % list.size()];
}

// Lists never become empty. Other tests cover a rank without tasks, and its updates.
void change(Schedule &schedule, std::mt19937 &random) {
  std::vector<Task> &list = schedule.ranks[random() % schedule.ranks.size()];
  size_t at = random() % list.size();
  switch (random() % 6) {
  case 0: // exchanges two tasks of one rank, near each other
    std::swap(list[at], list[(at + 1 + random() % 3) % list.size()]);
    break;
  case 1: // exchanges two tasks of any ranks
    std::swap(list[at], anyTask(schedule, random));
    break;
  case 2: // drops a task
    if (list.size() > 1)
      list.erase(list.begin() + at);
    break;
  case 3: // doubles a task
    list.insert(list.begin() + at, anyTask(schedule, random));
    break;
  case 4: // changes one number or letter
    if (unsigned what = random() % 3; what == 0)
      list[at].microBatch += random() % 2 ? 1 : -1;
    else if (what == 1)
      list[at].chunk += random() % 2 ? 1 : -1;
    else if (list[at].action != Action::Update)
      list[at].action = static_cast<Action>(random() % 4);
    break;
  case 5: // moves a task earlier, by any distance
    std::rotate(list.begin() + random() % (at + 1), list.begin() + at, list.begin() + at + 1);
    break;
  }
}

ChunkGraph randomGraph(int chunks, std::mt19937 &random) {
  ChunkGraph graph = ChunkGraph::chain(chunks);
  for (int from = 0; from < chunks; ++from)
    for (int to = from + 2; to < chunks; ++to)
      if (random() % 4 == 0)
        graph.edges.push_back({from, to, random() % 2 == 0});
  return graph;
}

TEST(Check, AgreesWithTheDefinitionOnChangedSchedules) {
  std::mt19937 random(11);
  int accepted = 0, refused = 0;
  const std::vector<ScheduleKind> &kinds = scheduleKinds();
  for (int round = 0; round < 6000; ++round) {
    int ranks = 1 + static_cast<int>(random() % 4);
    Result<Schedule> made =
        makeSchedule(kinds[random() % kinds.size()].name, {ranks, ranks * (1 + static_cast<int>(random() % 3)), 0, {}});
    if (!made)
      continue;
    Schedule schedule = *made;
    ChunkGraph graph = randomGraph(schedule.numChunks(), random);
    ASSERT_FALSE(checkSchedule(schedule, graph)) << toString(schedule);
    for (unsigned changes = 1 + random() % 2; changes > 0; --changes)
      change(schedule, random);
    auto found = checkSchedule(schedule, graph);
    EXPECT_EQ(!found, isRunnable(schedule, graph))
        << toString(schedule) << (found ? found->problem.message : "accepted");
    (found ? refused : accepted)++;
  }
  EXPECT_GT(accepted, 300);
  EXPECT_GT(refused, 2000);
}

std::string problemOf(const Schedule &schedule, const ChunkGraph &graph) {
  auto found = checkSchedule(schedule, graph);
  return found ? found->problem.message : "";
}

Schedule twoRanks(std::vector<Task> first, std::vector<Task> second, int microBatches = 1) {
  first.push_back(Task::update());
  second.push_back(Task::update());
  return {"", microBatches, {0, 1}, {std::move(first), std::move(second)}};
}

constexpr Action F = Action::Forward, B = Action::Backward, I = Action::BackwardInput, W = Action::BackwardWeight;

TEST(Check, SaysWhatIsWrong) {
  ChunkGraph chain = ChunkGraph::chain(2);
  EXPECT_EQ(problemOf(twoRanks({{F, 0, 0}, {B, 0, 0}}, {{F, 1, 0}, {B, 1, 0}}), chain), "");
  EXPECT_EQ(problemOf(twoRanks({{F, 0, 0}, {B, 0, 0}}, {{F, 1, 0}}), chain),
            "1B0 is missing in the list of rank 1: each chunk has one F and one B (or I and W) for each micro-batch");
  EXPECT_EQ(problemOf(twoRanks({{F, 0, 0}, {I, 0, 0}}, {{F, 1, 0}, {B, 1, 0}}), chain),
            "0W0 is missing in the list of rank 0: each chunk has one F and one B (or I and W) for each micro-batch");
  EXPECT_EQ(problemOf(twoRanks({{F, 0, 0}, {I, 0, 0}, {B, 0, 0}}, {{F, 1, 0}, {B, 1, 0}}), chain),
            "0B0 is done twice: a micro-batch has one B, or one I and one W");
  EXPECT_EQ(problemOf(twoRanks({{F, 0, 0}, {W, 0, 0}, {I, 0, 0}}, {{F, 1, 0}, {B, 1, 0}}), chain),
            "0W0 comes before the I of the same chunk and micro-batch, which it needs");
  EXPECT_EQ(problemOf(twoRanks({{F, 0, 0}, {B, 1, 0}}, {{F, 1, 0}, {B, 0, 0}}), chain),
            "1B0 is in the list of rank 0, but chunk 1 is on rank 1: all tasks of a chunk are on one rank");
  EXPECT_EQ(problemOf(twoRanks({{F, 0, 1}, {F, 0, 0}}, {}, 2), chain),
            "0F1 comes before micro-batch 0: a chunk takes micro-batches in ascending order, which keeps the order of "
            "its sums");
  EXPECT_EQ(problemOf(twoRanks({{F, 0, 0}, {B, 0, 0}}, {{F, 1, 0}, {B, 1, 0}}), ChunkGraph::chain(3)),
            "the schedule is for 2 chunks, the model has 3: cut it into as many as the schedule has");
  Schedule noUpdate = twoRanks({{F, 0, 0}, {B, 0, 0}}, {{F, 1, 0}, {B, 1, 0}});
  noUpdate.ranks[1].pop_back();
  EXPECT_EQ(problemOf(noUpdate, chain), "rank 1 does not end with an update");
  EXPECT_EQ(problemOf({"", 1, {0}, {{{F, 0, 0}, {B, 0, 0}, Task::update()}, {Task::update()}}}, ChunkGraph::chain(1)),
            "rank 1 has no chunk: use fewer ranks or cut the model into more chunks");
}

TEST(Check, NamesTheCircle) {
  // Rank 0 needs the gradient of micro-batch 0 before it begins micro-batch 1. Rank 1 needs activation 1 before it
  // sends that gradient.
  Schedule schedule =
      twoRanks({{F, 0, 0}, {B, 0, 0}, {F, 0, 1}, {B, 0, 1}}, {{F, 1, 0}, {F, 1, 1}, {B, 1, 0}, {B, 1, 1}}, 2);
  EXPECT_EQ(problemOf(schedule, ChunkGraph::chain(2)), "the schedule deadlocks: rank 0 stands at 0B0 and waits for 1B0 "
                                                       "of rank 1; rank 1 stands at 1F1 and waits for 0F1 of rank 0");
}

} // namespace
} // namespace cleave::pipeline

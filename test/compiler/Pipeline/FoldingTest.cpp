#include "compiler/Pipeline/Folding.h"
#include "compiler/Pipeline/Schedules.h"

#include <gtest/gtest.h>
#include <random>

namespace cleave::pipeline {
namespace {

std::string text(const std::vector<Run> &runs) {
  std::string result;
  for (const Run &run : runs) {
    for (const Task &task : run.tasks)
      result += toString(task) + " ";
    result += "x" + std::to_string(run.times) + "; ";
  }
  return result;
}

// The tasks that the runs stand for.
std::vector<Task> unfold(const std::vector<Run> &runs) {
  std::vector<Task> tasks;
  for (const Run &run : runs)
    for (int time = 0; time < run.times; ++time)
      for (Task task : run.tasks) {
        task.microBatch += time * run.stride;
        tasks.push_back(task);
      }
  return tasks;
}

// The number of tasks that are written.
int sizeOf(const std::vector<Run> &runs) {
  int tasks = 0;
  for (const Run &run : runs)
    tasks += static_cast<int>(run.tasks.size());
  return tasks;
}

TEST(Folding, OneForwardOneBackward) {
  EXPECT_EQ(text(fold(makeSchedule("1f1b", {2, 8, 0, {}})->ranks[0])), "0F0 x2; 0B0 0F2 x6; 0B6 x2; update x1; ");
  EXPECT_EQ(text(fold(makeSchedule("gpipe", {2, 8, 0, {}})->ranks[1])), "1F0 x8; 1B0 x8; update x1; ");
}

TEST(Folding, IsTheSameList) {
  for (const ScheduleKind &kind : scheduleKinds())
    for (int ranks : {1, 2, 3, 5})
      for (int rounds : {1, 2, 3, 7}) {
        Result<Schedule> schedule = makeSchedule(kind.name, {ranks, ranks * rounds, 0, {}});
        for (int rank = 0; schedule && rank < ranks; ++rank)
          EXPECT_EQ(unfold(fold(schedule->ranks[rank])), schedule->ranks[rank]) << kind.name;
      }
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Task> tasks;
    for (unsigned i = random() % 30; i > 0; --i)
      tasks.push_back(
          {static_cast<Action>(random() % 2), static_cast<int>(random() % 2), static_cast<int>(random() % 4)});
    EXPECT_EQ(unfold(fold(tasks)), tasks);
  }
}

// Between 64 and 512 micro-batches the size does not grow, with any schedule.
TEST(Folding, DoesNotGrowWithMicroBatches) {
  for (const ScheduleKind &kind : scheduleKinds())
    for (int ranks : {2, 4, 8}) {
      Result<Schedule> few = makeSchedule(kind.name, {ranks, 64, 0, {}}),
                       many = makeSchedule(kind.name, {ranks, 512, 0, {}});
      ASSERT_TRUE(few && many);
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_LE(sizeOf(fold(many->ranks[rank])), sizeOf(fold(few->ranks[rank]))) << kind.name << " rank " << rank;
    }
}

} // namespace
} // namespace cleave::pipeline

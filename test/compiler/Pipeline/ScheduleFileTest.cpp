#include "compiler/Pipeline/ScheduleFile.h"
#include "compiler/Pipeline/Check.h"
#include "compiler/Pipeline/Schedules.h"

#include <gtest/gtest.h>
#include <random>

namespace cleave::pipeline {
namespace {

std::string problemOf(const std::string &text, ScheduleLimits limits = {}) {
  Result<Schedule> schedule = parseSchedule("s", text, limits);
  return schedule ? "" : schedule.message();
}

// Writes a schedule as parseSchedule reads it.
std::string textOf(const Schedule &schedule) {
  std::string text;
  for (int rank = 0; rank < schedule.numRanks(); ++rank) {
    text += "rank " + std::to_string(rank) + ":";
    for (const Task &task : schedule.ranks[rank])
      if (task.action != Action::Update)
        text += " " + toString(task);
    text += "\n";
  }
  return text;
}

TEST(ScheduleFile, ReadsAllSchedules) {
  for (const ScheduleKind &kind : scheduleKinds()) {
    Result<Schedule> made = makeSchedule(kind.name, {4, 8, 0, {}});
    ASSERT_TRUE(made);
    Result<Schedule> read = parseSchedule("s", textOf(*made), {4, 8});
    ASSERT_TRUE(read) << read.message();
    EXPECT_EQ(read->ranks, made->ranks);
    EXPECT_EQ(read->rankOfChunk, made->rankOfChunk);
    EXPECT_EQ(read->microBatches, made->microBatches);
  }
}

TEST(ScheduleFile, BothForms) {
  const char *named =
      "# a comment\nrank 0: 0F0, 0F1 # both\n\nrank 1: 1F0 1B0\nrank 1:1F1\nrank 0: 0B0 0B1\nrank 1: 1B1";
  const char *inOrder = "0F0,0F1,,,0B0,0B1\r\n,1F0,1B0,1F1,1B1\r\n";
  Result<Schedule> a = parseSchedule("s", named), b = parseSchedule("s", inOrder);
  ASSERT_TRUE(a) << a.message();
  ASSERT_TRUE(b) << b.message();
  EXPECT_EQ(a->ranks, b->ranks);
  EXPECT_EQ(a->microBatches, 2);
  EXPECT_EQ(a->ranks[0].back(), Task::update());
}

TEST(ScheduleFile, ErrorsNameTheLine) {
  const std::string form =
      "expected <chunk><F|B|I|W><micro-batch>, as in 0F0, with numbers below 1048576; sends, receives and "
      "updates follow from the tasks and are not written";
  EXPECT_EQ(problemOf(""), "s: the file has no task; a task is written <chunk><F|B|I|W><micro-batch>, as in 0F0");
  EXPECT_EQ(problemOf("0F0 0B0\n1F0 1X0"), "s:2: '1X0' is no task: " + form);
  EXPECT_EQ(problemOf("0F0 0SEND_F0"), "s:1: '0SEND_F0' is no task: " + form);
  EXPECT_EQ(problemOf("0F99999999999999999999"), "s:1: '0F99999999999999999999' is no task: " + form);
  EXPECT_EQ(problemOf("rank x: 0F0"), "s:1: expected 'rank <number>:' before the tasks of a rank");
  EXPECT_EQ(problemOf("rank 1: 0F0"),
            "s:1: rank 1 comes before rank 0 has a list: begin the lists in the order of the ranks");
  EXPECT_EQ(problemOf("0F0 0B0\nrank 1: 1F0"),
            "s:2: some lines begin with 'rank N:' and others do not: use one form in all of the file");
  EXPECT_EQ(problemOf("0F0 0B0\n\n1F0\n"),
            "s: the tasks go up to chunk 1 and micro-batch 0, which needs at least 4 tasks "
            "(an F and a B for each chunk and micro-batch); the file has 3; the first one that is missing is 1B0");
  for (const auto &[tasks, missing] :
       {std::pair("0F0 0I0 1F0", "0W0"), std::pair("1F0 1W0 0F0 0W0 1B1", "0I0"), std::pair("0F1 0F0 0B0", "0B1")}) {
    std::string problem = problemOf(tasks);
    EXPECT_EQ(problem.substr(problem.rfind(' ') + 1), missing) << problem;
  }
  EXPECT_EQ(problemOf("1048575F1048575"),
            "s: the tasks go up to chunk 1048575 and micro-batch 1048575, which needs at "
            "least 2199023255552 tasks (an F and a B "
            "for each chunk and micro-batch); the file has 1; the first one that is missing is "
            "0F0");
  EXPECT_EQ(problemOf("0F0 0B0 0B0 0F0\n2F0 2B0"),
            "s: no rank has a task of chunk 1, but one of chunk 2 is there: chunks are numbered without gaps");
  EXPECT_EQ(problemOf("0F0 0B0\n\n0F0 0B0"),
            "s:3: 0F0 is in the list of rank 1, but chunk 0 is on rank 0: all tasks of a chunk are on one rank");
  EXPECT_EQ(problemOf("0F0 0B0", {2, 0}), "s: the file has lists of 1 rank, the mesh has 2 pipeline ranks");
  EXPECT_EQ(problemOf("0F0 0B0", {0, 2}), "s: the file has 1 micro-batch, asked for are 2");
  EXPECT_EQ(problemOf("0F0 0B0 0F1\n0B1\n"),
            "s:2: 0B1 is in the list of rank 1, but chunk 0 is on rank 0: all tasks of a chunk are on one rank");
  EXPECT_EQ(problemOf("rank 0: 0F0 0B0 0F1\nrank 0: 0B1\nrank 1: 1F0\nrank 1: 1F1 1B0 1B1"),
            "s:1: the schedule deadlocks: rank 0 stands at 0B0 and waits for 1B0 of rank 1; rank 1 stands at 1F1 and "
            "waits for 0F1 of rank 0");
}

// Any bytes give an error, or a schedule that the checker accepts.
TEST(ScheduleFile, AnyBytes) {
  std::mt19937 random(3);
  std::string good = "rank 0: 0F0 0F1 0B0 0I1 0W1\nrank 1: 1F0 1B0 1F1 1B1\n";
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    for (unsigned changes = 1 + random() % 3; changes > 0 && !text.empty(); --changes) {
      size_t at = random() % text.size();
      switch (random() % 3) {
      case 0:
        text[at] = "0129FBIWrank: ,#\n\0\xff"[random() % 19];
        break;
      case 1:
        text.erase(at, 1 + random() % 5);
        break;
      case 2:
        text.insert(at, text.substr(random() % text.size(), random() % 6));
        break;
      }
    }
    Result<Schedule> schedule = parseSchedule("s", text);
    if (schedule) {
      ++accepted;
      EXPECT_FALSE(checkSchedule(*schedule, ChunkGraph::chain(schedule->numChunks())));
    } else {
      EXPECT_EQ(schedule.message().substr(0, 1), "s");
    }
  }
  EXPECT_GT(accepted, 100);
}

} // namespace
} // namespace cleave::pipeline

// Finds what a task waits for, apart from its turn in its rank's list:
//
//   F(c, i)    F(b, i) of each edge b -> c
//   B, I(c, i) F(c, i), and B or I(d, i) of each edge c -> d with a gradient
//   W(c, i)    I(c, i)
//   update     all other tasks of its rank
//
// The tasks of a schedule are numbered rank by rank, in the order of the lists, so that a number is a node of one
// graph. Each task of the schedule must be there once (checkSchedule checks this first).
#ifndef CLEAVE_COMPILER_PIPELINE_DEPENDENCES_H
#define CLEAVE_COMPILER_PIPELINE_DEPENDENCES_H

#include "compiler/Pipeline/Schedule.h"

namespace cleave::pipeline {

class TaskTable {
public:
  explicit TaskTable(const Schedule &schedule);

  int size() const { return static_cast<int>(rankOf_.size()); }
  int number(int rank, int position) const { return firstOf_[rank] + position; }
  int rankOf(int number) const { return rankOf_[number]; }
  const Task &task(int number) const { return schedule_.ranks[rankOf_[number]][number - firstOf_[rankOf_[number]]]; }

  // The numbers of F(c, i); of B or I(c, i); of B or W(c, i).
  int forward(int chunk, int microBatch) const { return forward_[at(chunk, microBatch)]; }
  int backward(int chunk, int microBatch) const { return backward_[at(chunk, microBatch)]; }
  int weight(int chunk, int microBatch) const { return weight_[at(chunk, microBatch)]; }

private:
  int at(int chunk, int microBatch) const { return chunk * schedule_.microBatches + microBatch; }

  const Schedule &schedule_;
  std::vector<int> firstOf_, rankOf_;
  std::vector<int> forward_, backward_, weight_;
};

// Returns for each task the tasks that it waits for by the rules above, and not those that are only before it in its
// rank's list.
std::vector<std::vector<int>> dependences(const TaskTable &table, const Schedule &schedule, const ChunkGraph &graph);

} // namespace cleave::pipeline

#endif

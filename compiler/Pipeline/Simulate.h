// Computes when each task of a schedule runs, on given costs. A rank runs its list in order. Each task starts as soon
// as everything that it waits for is there (Dependences.h). Sends and receives overlap computation. A value reaches
// another rank `transfer` after it is made.
//
// Two shares of idle time are of interest. They differ if a schedule is a parallelogram:
//
//   of a step alone   1 - busy / (ranks x duration of the step). GPipe, 1F1B: (K-1)/(M+K-1) for K ranks
//                     and M micro-batches.
//   of steps in a row 1 - busy / (ranks x period). A rank may begin its next step as soon as it has updated its own
//                     weights. The period is the time from step to step once the pipe is full. The figures of
//                     zero-bubble schedules are of this kind. It holds if no update waits for a value of all stages
//                     (global gradient norm, found-inf).
#ifndef CLEAVE_COMPILER_PIPELINE_SIMULATE_H
#define CLEAVE_COMPILER_PIPELINE_SIMULATE_H

#include "compiler/Pipeline/Schedule.h"

namespace cleave::pipeline {

struct TaskCosts {
  double forward = 1, backwardInput = 1, backwardWeight = 1; // B costs backwardInput + backwardWeight
};

struct Costs {
  TaskCosts all;                  // of each chunk, if `ofChunk` is empty
  std::vector<TaskCosts> ofChunk; // empty, or one for each chunk
  double transfer = 0;            // from one rank to another
  double update = 0;

  const TaskCosts &of(int chunk) const { return ofChunk.empty() ? all : ofChunk[chunk]; }
  double of(const Task &task) const;
};

struct Span {
  Task task;
  double start = 0, end = 0;
};

struct Timeline {
  std::vector<std::vector<Span>> ranks; // in the order of the schedule's lists
  double duration = 0;                  // from 0 to the end of the last task
};

// The schedule must have passed checkSchedule().
Timeline simulate(const Schedule &schedule, const ChunkGraph &graph, const Costs &costs);

// Returns the time that all ranks together compute in a step.
double busyTime(const Schedule &schedule, const Costs &costs);
double idleShare(const Timeline &timeline);
double idleShareInARow(const Schedule &schedule, const ChunkGraph &graph, const Costs &costs);

} // namespace cleave::pipeline

#endif

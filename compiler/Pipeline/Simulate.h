// When each task of a schedule runs, on given costs: a rank runs its list in order, each task as soon as what it waits
// for is there (Dependences.h). Sends and receives overlap compute; a value reaches another rank `transfer` after it is
// made.
//
// Two shares of idle time are of interest, and they differ where a schedule is a parallelogram:
//
//   of a step alone   1 - busy / (ranks x duration of the step). GPipe, 1F1B: (K-1)/(M+K-1).
//   of steps in a row 1 - busy / (ranks x period). A rank may begin its next step as soon as it has updated its own
//                     weights; the period is the time from step to step once the pipe is full. The figures of
//                     zero-bubble schedules are of this kind. It holds where no update waits for a value of all stages
//                     (global gradient norm, found-inf).
#ifndef CLEAVE_COMPILER_PIPELINE_SIMULATE_H
#define CLEAVE_COMPILER_PIPELINE_SIMULATE_H

#include "compiler/Pipeline/Schedule.h"

namespace cleave::pipeline {

struct TaskCosts {
  double forward = 1, backwardInput = 1, backwardWeight = 1; // B costs backwardInput + backwardWeight
};

struct Costs {
  TaskCosts all;                  // of each chunk that `ofChunk` does not have
  std::vector<TaskCosts> ofChunk; // empty, or of each chunk
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
  std::vector<std::vector<Span>> ranks; // as the schedule's lists
  double duration = 0;                  // from 0 to the end of the last task
};

// Of a schedule that checkSchedule accepts.
Timeline simulate(const Schedule &schedule, const ChunkGraph &graph, const Costs &costs);

// Time that all ranks together compute in a step.
double busyTime(const Schedule &schedule, const Costs &costs);
double idleShare(const Timeline &timeline);
double idleShareInARow(const Schedule &schedule, const ChunkGraph &graph, const Costs &costs);

} // namespace cleave::pipeline

#endif

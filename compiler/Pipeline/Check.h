// Checks whether a schedule may run at all. Every schedule is checked: those that this folder makes, and those of a
// user's file.
//
//   1. Each chunk is on one rank, and each rank has at least one chunk.
//   2. Each task is there exactly once: for each chunk and micro-batch one F, and either one B or one I and one W.
//      One update ends each rank's list.
//   3. On its rank, F comes before B or I, and I before W.
//   4. The F, the B or I, and the B or W of a chunk each take micro-batches in ascending order. Then the sums of
//      gradients have one order in all schedules (equal bits), states that forward passes change (batch norm) are
//      changed in one order, and the micro-batches that are alive at a time are consecutive, so that frames are used in
//      turn.
//   5. No task waits for itself around a circle of ranks.
//
// Sends and receives do not deadlock either, because of their order (Transfers.h).
#ifndef CLEAVE_COMPILER_PIPELINE_CHECK_H
#define CLEAVE_COMPILER_PIPELINE_CHECK_H

#include "compiler/Pipeline/Result.h"
#include "compiler/Pipeline/Schedule.h"

namespace cleave::pipeline {

// Where an error is. The reader of a file puts the line of the task before the message. Position -1: the rank as a
// whole; rank -1: all ranks.
struct SchedulePosition {
  int rank = -1, position = -1;
};

struct ScheduleProblem {
  Problem problem;
  SchedulePosition place;
};

// Returns the first problem; none if the schedule passes.
[[nodiscard]] std::optional<ScheduleProblem> checkSchedule(const Schedule &schedule, const ChunkGraph &graph);

} // namespace cleave::pipeline

#endif

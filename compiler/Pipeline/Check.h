// Whether a schedule may run at all. It is asked of every schedule: of those that this folder makes, and of those of a
// user's file.
//
//   1. Each chunk is on one rank, and each rank has one.
//   2. Each task is there exactly once: for each chunk and micro-batch one F, and either one B or one I and one W.
//      One update ends each rank's list.
//   3. On its rank, F comes before B or I, and I before W.
//   4. The F, the B or I, and the B or W of a chunk each take micro-batches in ascending order. The sums of gradients
//      then have one order in all schedules (equal bits), states that forward passes change (batch norm) are changed in
//      one order, and what is alive at a time is a range of micro-batches, so that frames are taken in turn.
//   5. No task waits for itself around a circle of ranks.
//
// That the sends and receives do not deadlock either is a matter of their order (Transfers.h).
#ifndef CLEAVE_COMPILER_PIPELINE_CHECK_H
#define CLEAVE_COMPILER_PIPELINE_CHECK_H

#include "compiler/Pipeline/Result.h"
#include "compiler/Pipeline/Schedule.h"

namespace cleave::pipeline {

// Where an error is: a file's reader prefixes the line of the task. Position -1: of the rank as a whole; rank -1: of
// all ranks.
struct SchedulePosition {
  int rank = -1, position = -1;
};

struct ScheduleProblem {
  Problem problem;
  SchedulePosition place;
};

[[nodiscard]] std::optional<ScheduleProblem> checkSchedule(const Schedule &schedule, const ChunkGraph &graph);

} // namespace cleave::pipeline

#endif

// All forward passes, then all backward passes. Both take the micro-batches in ascending order: GPipe's own paper runs
// the backward passes in descending order, which takes as long and sums gradients in another order.
#include "compiler/Pipeline/ScheduleBuilder.h"
#include "compiler/Pipeline/Schedules.h"

namespace cleave::pipeline {

Result<Schedule> makeGPipe(const ScheduleRequest &request) {
  Schedule schedule{"", request.microBatches, placeInTurn(request.ranks, 1), {}};
  for (int rank = 0; rank < request.ranks; ++rank) {
    ScheduleBuilder list(request.ranks, request.microBatches);
    while (list.forward(rank)) {
    }
    while (list.backward(rank)) {
    }
    schedule.ranks.push_back(list.take());
  }
  return schedule;
}

} // namespace cleave::pipeline

// One micro-batch goes all the way forward and all the way back before the next begins.
#include "compiler/Pipeline/ScheduleBuilder.h"
#include "compiler/Pipeline/Schedules.h"

namespace cleave::pipeline {

Result<Schedule> makeNaive(const ScheduleRequest &request) {
  Schedule schedule{"", request.microBatches, placeInTurn(request.ranks, 1), {}};
  for (int rank = 0; rank < request.ranks; ++rank) {
    ScheduleBuilder list(request.ranks, request.microBatches);
    while (list.forward(rank))
      list.backward(rank);
    schedule.ranks.push_back(list.take());
  }
  return schedule;
}

} // namespace cleave::pipeline

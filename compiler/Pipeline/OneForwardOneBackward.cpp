// 1F1B (PipeDream-Flush). A rank begins with as many forward passes as it takes until the first gradient comes back to
// it: one for itself and one for each rank after it. From then on each backward pass frees what the next forward pass
// needs.
#include "compiler/Pipeline/Lists.h"
#include "compiler/Pipeline/Schedules.h"

namespace cleave::pipeline {

Result<Schedule> makeOneForwardOneBackward(const ScheduleRequest &request) {
  Schedule schedule{"", request.microBatches, placeInTurn(request.ranks, 1), {}};
  for (int rank = 0; rank < request.ranks; ++rank) {
    ListWriter list(request.ranks, request.microBatches);
    for (int i = 0; i < request.ranks - 1 - rank; ++i)
      list.forward(rank);
    do
      list.forward(rank);
    while (list.backward(rank));
    schedule.ranks.push_back(list.take());
  }
  return schedule;
}

} // namespace cleave::pipeline

// 1F1B (PipeDream-Flush) and eager 1F1B. A rank begins with some forward passes. After that, each backward pass frees
// what the next forward pass needs.
//
// 1F1B begins with as many forward passes as it takes until the first gradient comes back if messages take no time: one
// for the rank itself, and one for each rank after it. The time d of a message then shows in every round. A rank that
// holds p micro-batches, and gets one back after p(F+B) + 2(p-1)d, cannot begin them faster than every F+B + 2d(p-1)/p.
// No order of p micro-batches can. Eager 1F1B (Zhuang et al. 2023, arXiv 2211.05322) begins with two for each rank
// after it. It holds 2p-1 micro-batches, which hide messages of up to (F+B)/2, half of the time that a stage computes
// for a micro-batch.
#include "compiler/Pipeline/ScheduleBuilder.h"
#include "compiler/Pipeline/Schedules.h"

namespace cleave::pipeline {

static Schedule beginWith(int forwardsOfEachLaterRank, const ScheduleRequest &request) {
  Schedule schedule{"", request.microBatches, placeInTurn(request.ranks, 1), {}};
  for (int rank = 0; rank < request.ranks; ++rank) {
    ScheduleBuilder list(request.ranks, request.microBatches);
    for (int i = 0; i < forwardsOfEachLaterRank * (request.ranks - 1 - rank); ++i)
      list.forward(rank);
    do
      list.forward(rank);
    while (list.backward(rank));
    schedule.ranks.push_back(list.take());
  }
  return schedule;
}

Result<Schedule> makeOneForwardOneBackward(const ScheduleRequest &request) { return beginWith(1, request); }

Result<Schedule> makeEagerOneForwardOneBackward(const ScheduleRequest &request) { return beginWith(2, request); }

} // namespace cleave::pipeline

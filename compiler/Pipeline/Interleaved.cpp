// 1F1B with v chunks a rank. Chunks c, c+p, c+2p ... are on one rank. A rank takes p micro-batches through one of its
// chunks, then the same p through its next, so that the first is back when it turns to them; backward the chunks
// come in descending order. With the k-th backward pass comes the (k + warm-up)-th forward pass.
#include "compiler/Pipeline/Lists.h"
#include "compiler/Pipeline/Schedules.h"

#include <algorithm>

namespace cleave::pipeline {

static Problem notDivisible(const ScheduleRequest &request) {
  int below = request.microBatches / request.ranks * request.ranks, above = below + request.ranks;
  std::string use = below == 0 ? std::to_string(above) : std::to_string(below) + " or " + std::to_string(above);
  return {"schedule interleaved-1f1b takes micro-batches in rounds of one for each pipeline rank: " +
          std::to_string(request.microBatches) + " micro-batches do not divide by " + std::to_string(request.ranks) +
          " ranks; use " + use + " micro-batches, or 1f1b, which takes any number"};
}

Result<Schedule> makeInterleaved(const ScheduleRequest &request) {
  int p = request.ranks, v = request.chunksPerRank;
  if (request.microBatches % p != 0)
    return notDivisible(request);
  int total = request.microBatches * v; // forward passes of a rank
  Schedule schedule{"", request.microBatches, placeInTurn(p, v), {}};
  for (int rank = 0; rank < p; ++rank) {
    ListWriter list(p * v, request.microBatches);
    // The chunk whose turn is at the k-th forward or backward pass.
    auto turn = [&](int k) { return k / p % v; };
    auto forward = [&](int k) { list.forward(turn(k) * p + rank); };
    // The last rank's first backward pass follows v-1 rounds and one; each rank before it is two passes earlier.
    int warmUp = std::min(total, (v - 1) * p + 2 * (p - 1 - rank));
    for (int k = 0; k < warmUp; ++k)
      forward(k);
    for (int k = 0; k < total; ++k) {
      if (k + warmUp < total)
        forward(k + warmUp);
      list.backward((v - 1 - turn(k)) * p + rank);
    }
    schedule.ranks.push_back(list.take());
  }
  return schedule;
}

} // namespace cleave::pipeline

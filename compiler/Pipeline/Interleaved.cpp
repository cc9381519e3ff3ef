// 1F1B with v chunks for each rank. Chunks c, c+p, c+2p ... are on one rank. A rank takes p micro-batches through one
// of its chunks, then the same p through its next chunk, so that the first one is back when the rank turns to it. In
// the backward pass, the chunks come in descending order. The k-th backward pass comes with the (k + warm-up)-th
// forward pass.
#include "compiler/Pipeline/ScheduleBuilder.h"
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
    ScheduleBuilder list(p * v, request.microBatches);
    // Returns which of the rank's chunks the k-th forward or backward pass is of.
    auto turn = [&](int k) { return k / p % v; };
    auto forward = [&](int k) { list.forward(turn(k) * p + rank); };
    // Before its first backward pass, the last rank runs v-1 rounds and one pass. Each rank before it runs two passes
    // more.
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

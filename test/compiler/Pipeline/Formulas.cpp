#include "test/compiler/Pipeline/Formulas.h"

#include <algorithm>

namespace cleave::pipeline {

static int chunksOf(const std::string &name, const ScheduleRequest &request) {
  for (const ScheduleKind &kind : scheduleKinds())
    if (name == kind.name && request.chunksPerRank == 0)
      return kind.leastChunks;
  return std::max(1, request.chunksPerRank);
}

// The idle time of a rank in a step.
static std::optional<double> expectedIdle(const std::string &name, const ScheduleRequest &request) {
  double f = request.costs.all.forward, i = request.costs.all.backwardInput, w = request.costs.all.backwardWeight;
  double others = request.ranks - 1;
  if (name == "naive")
    return others * request.microBatches * (f + i + w);
  if (name == "gpipe" || name == "1f1b" || name == "eager-1f1b" || name == "interleaved-1f1b")
    return others * (f + i + w);
  if (name == "zb-h1" && w <= f && w <= i && request.microBatches >= request.ranks)
    return others * (f + i - w);
  if (name == "zb-h2" && w <= f && w <= i && request.microBatches >= 2 * request.ranks - 1)
    return others * (f + i - 2 * w);
  if (name == "dualpipe-v" && f == i && w <= f)
    return others * (f + i - w);
  return std::nullopt;
}

std::optional<double> expectedIdleShare(const std::string &name, const ScheduleRequest &request) {
  std::optional<double> idle = expectedIdle(name, request);
  if (!idle || !request.costs.ofChunk.empty() || request.costs.transfer != 0 || request.costs.update != 0)
    return std::nullopt;
  const TaskCosts &costs = request.costs.all;
  double busy =
      request.microBatches * chunksOf(name, request) * (costs.forward + costs.backwardInput + costs.backwardWeight);
  return *idle / (busy + *idle);
}

bool isExpectedInARow(const std::string &name) { return name == "zb-h2"; }

std::optional<int> expectedFrames(const std::string &name, const ScheduleRequest &request, int rank) {
  int p = request.ranks, m = request.microBatches;
  if (name == "naive")
    return 1;
  if (name == "gpipe")
    return m;
  if (name == "1f1b")
    return std::min(m, p - rank);
  if (name == "eager-1f1b")
    return std::min(m, 2 * (p - rank) - 1);
  if (int v = chunksOf(name, request); name == "interleaved-1f1b")
    return std::min(m * v, (v - 1) * p + 2 * (p - 1 - rank) + 1);
  if (name == "zb-h1")
    return std::min(m, p);
  if (name == "zb-h2")
    return std::min(m, 2 * p - 1);
  if (name == "dualpipe-v")
    return 2 * p + 1;
  return std::nullopt;
}

} // namespace cleave::pipeline

#include "compiler/Pipeline/Transfers.h"

#include "compiler/Pipeline/Dependences.h"
#include "compiler/Pipeline/Simulate.h"

#include <algorithm>

namespace cleave::pipeline {

std::string toString(const Transfer &transfer) {
  return toString(transfer.producer) + " -> " + toString(transfer.consumer) + " from rank " +
         std::to_string(transfer.sender) + " to rank " + std::to_string(transfer.receiver);
}

namespace {
struct Timed {
  double producedAt;
  Transfer transfer;
};
} // namespace

std::vector<Transfer> transfersOf(const Schedule &schedule, const ChunkGraph &graph) {
  Costs units;
  units.all = {1, 1, 1};
  Timeline timeline = simulate(schedule, graph, units);
  TaskTable table(schedule);
  std::vector<double> end;
  for (const std::vector<Span> &spans : timeline.ranks)
    for (const Span &span : spans)
      end.push_back(span.end);
  std::vector<Timed> timed;
  for (int number = 0; number < static_cast<int>(graph.edges.size()); ++number) {
    const ChunkEdge &edge = graph.edges[number];
    int from = schedule.rankOfChunk[edge.from], to = schedule.rankOfChunk[edge.to];
    if (from == to)
      continue;
    for (int i = 0; i < schedule.microBatches; ++i) {
      int made = table.forward(edge.from, i), used = table.forward(edge.to, i);
      timed.push_back({end[made], {number, false, i, from, to, table.task(made), table.task(used)}});
      made = table.backward(edge.to, i), used = table.backward(edge.from, i);
      if (edge.gradient)
        timed.push_back({end[made], {number, true, i, to, from, table.task(made), table.task(used)}});
    }
  }
  std::stable_sort(timed.begin(), timed.end(),
                   [](const Timed &a, const Timed &b) { return a.producedAt < b.producedAt; });
  std::vector<Transfer> transfers;
  for (Timed &one : timed)
    transfers.push_back(std::move(one.transfer));
  return transfers;
}

} // namespace cleave::pipeline

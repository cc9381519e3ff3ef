#include "compiler/Training/Residuals/ResidualChoice.h"

#include "compiler/Support/MinCut.h"

#include <algorithm>

namespace cleave {

namespace {

constexpr int64_t kUnit = 1000; // weight of a byte; the penalty is counted in thousandths
constexpr int kMaxDistance = 50;

// Returns for each value the number of ops between it and its nearest use in the backward pass, at most kMaxDistance.
std::vector<int> distancesFromBackward(const ResidualGraph &graph) {
  std::vector<int> distance(graph.values.size(), kMaxDistance);
  for (size_t i = 0; i < distance.size(); ++i)
    if (graph.values[i].needed)
      distance[i] = 0;
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
    int nearest = kMaxDistance;
    for (int result : op->results)
      nearest = std::min(nearest, distance[result] + 1);
    for (int operand : op->operands)
      distance[operand] = std::min(distance[operand], nearest);
  }
  return distance;
}

// Value v is the edge from in(v) to out(v).
int in(int value) { return 2 * value; }
int out(int value) { return 2 * value + 1; }

} // namespace

std::vector<int> chooseResiduals(const ResidualGraph &graph) {
  int count = static_cast<int>(graph.values.size());
  int source = 2 * count, sink = source + 1;
  MinCut cut(2 * count + 2);
  std::vector<int> distance = distancesFromBackward(graph);
  for (int v = 0; v < count; ++v) {
    const ResidualGraph::Value &value = graph.values[v];
    if (value.free)
      continue;
    // At least one byte: a cut through an empty tensor must not cost nothing.
    cut.addEdge(in(v), out(v), std::max<int64_t>(value.bytes, 1) * (kUnit + distance[v]));
    if (value.needed)
      cut.addEdge(out(v), sink, MinCut::kInfinite);
  }
  for (const ResidualGraph::Op &op : graph.ops)
    for (int result : op.results) {
      if (graph.values[result].free)
        continue;
      if (!op.recomputable || graph.values[result].anchored)
        cut.addEdge(source, in(result), MinCut::kInfinite);
      else
        for (int operand : op.operands)
          if (!graph.values[operand].free)
            cut.addEdge(out(operand), in(result), MinCut::kInfinite);
    }
  cut.run(source, sink);
  std::vector<bool> side = cut.sinkSide(sink);
  std::vector<int> kept;
  for (int v = 0; v < count; ++v)
    if (!graph.values[v].free && !side[in(v)] && side[out(v)])
      kept.push_back(v);
  return kept;
}

} // namespace cleave

#include "compiler/Support/MinCut.h"

#include <algorithm>

namespace cleave {

// `left` of an edge is the capacity that the flow has not used yet. `left` of its reverse is the flow, which a later path
// may take back. For example, from s to t:
//
//   s -> a 3     a -> t 1     a -> b 1     b -> t 5
//
//   rank()       s 0, a 1, t 2, b 2          augment()   s a t: 1
//   rank()       s 0, a 1, b 2, t 3          augment()   s a b t: 1
//   rank()       s 0, a 1: t is not reached, so the flow of 2 is the largest
//
// Then a and s are the source's side. All edges that leave it (a -> t, a -> b) are full, so their capacities add up to
// the flow, and no cut can be smaller.
void MinCut::addEdge(int from, int to, int64_t capacity) {
  adjacency[from].push_back(static_cast<int>(edges.size()));
  edges.push_back({to, capacity});
  adjacency[to].push_back(static_cast<int>(edges.size()));
  edges.push_back({from, 0});
}

// Computes distances from the source along edges with capacity left. Returns false if the sink cannot be reached.
bool MinCut::rank(int source, int sink) {
  level.assign(adjacency.size(), -1);
  level[source] = 0;
  std::vector<int> queue = {source};
  for (size_t head = 0; head < queue.size(); ++head)
    for (int index : adjacency[queue[head]])
      if (edges[index].left > 0 && level[edges[index].to] < 0) {
        level[edges[index].to] = level[queue[head]] + 1;
        queue.push_back(edges[index].to);
      }
  return level[sink] >= 0;
}

// Augments the flow along one path of ascending levels, and returns its capacity; 0 if no path is left. It does not
// recurse, because graphs are as deep as models.
int64_t MinCut::augment(int source, int sink) {
  std::vector<int> path;
  int node = source;
  while (node != sink) {
    size_t &at = next[node];
    if (at == adjacency[node].size()) {
      if (node == source)
        return 0;
      level[node] = -1; // a dead end: never enter it again
      node = edges[path.back() ^ 1].to;
      path.pop_back();
      ++next[node];
      continue;
    }
    int index = adjacency[node][at];
    if (edges[index].left > 0 && level[edges[index].to] == level[node] + 1) {
      path.push_back(index);
      node = edges[index].to;
    } else {
      ++at;
    }
  }
  int64_t flow = kInfinite;
  for (int index : path)
    flow = std::min(flow, edges[index].left);
  for (int index : path) {
    edges[index].left -= flow;
    edges[index ^ 1].left += flow;
  }
  return flow;
}

int64_t MinCut::run(int source, int sink) {
  int64_t total = 0;
  while (total < kInfinite && rank(source, sink)) {
    next.assign(adjacency.size(), 0);
    while (int64_t flow = augment(source, sink)) {
      total += flow;
      if (total >= kInfinite)
        break;
    }
  }
  return total;
}

std::vector<bool> MinCut::sinkSide(int sink) const {
  std::vector<bool> side(adjacency.size(), false);
  side[sink] = true;
  std::vector<int> queue = {sink};
  for (size_t head = 0; head < queue.size(); ++head)
    for (int index : adjacency[queue[head]]) {
      const Edge &back = edges[index ^ 1]; // the edge from the neighbour to this node
      int neighbour = edges[index].to;
      if (back.left > 0 && !side[neighbour]) {
        side[neighbour] = true;
        queue.push_back(neighbour);
      }
    }
  return side;
}

std::vector<bool> MinCut::sourceSide(int source) const {
  std::vector<bool> side(adjacency.size(), false);
  side[source] = true;
  std::vector<int> queue = {source};
  for (size_t head = 0; head < queue.size(); ++head)
    for (int index : adjacency[queue[head]])
      if (edges[index].left > 0 && !side[edges[index].to]) {
        side[edges[index].to] = true;
        queue.push_back(edges[index].to);
      }
  return side;
}

} // namespace cleave

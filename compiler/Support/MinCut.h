// Minimum cut of a directed graph by Dinic's algorithm: the largest flow, by augmenting along shortest paths.
#ifndef CLEAVE_COMPILER_SUPPORT_MINCUT_H
#define CLEAVE_COMPILER_SUPPORT_MINCUT_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cleave {

class MinCut {
public:
  static constexpr int64_t kInfinite = int64_t(1) << 60;

  explicit MinCut(int nodes) : adjacency(nodes) {}

  void addEdge(int from, int to, int64_t capacity);

  // Sends the largest flow from source to sink, and returns it; kInfinite or more: nothing separates them.
  int64_t run(int source, int sink);

  // After run: true for nodes on the sink's side of the minimum cut nearest to the sink.
  std::vector<bool> sinkSide(int sink) const;
  // The same of the source: true for nodes on its side of the minimum cut nearest to it.
  std::vector<bool> sourceSide(int source) const;

private:
  struct Edge {
    int to;
    int64_t left;
  };

  bool rank(int source, int sink);
  int64_t augment(int source, int sink);

  std::vector<Edge> edges; // edge i and its reverse i ^ 1
  std::vector<std::vector<int>> adjacency;
  std::vector<int> level;
  std::vector<size_t> next;
};

} // namespace cleave

#endif

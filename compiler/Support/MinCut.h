// Minimum cut of a directed graph by Dinic's algorithm: finds the largest flow, by augmenting it along shortest paths.
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

  // Sends the largest flow from source to sink, and returns it. kInfinite or more means that no cut separates them.
  int64_t run(int source, int sink);

  // To be called after run(). True for nodes on the sink's side of the minimum cut that is nearest to the sink.
  std::vector<bool> sinkSide(int sink) const;
  // To be called after run(). True for nodes on the source's side of the minimum cut that is nearest to the source.
  std::vector<bool> sourceSide(int source) const;

private:
  struct Edge {
    int to;
    int64_t left;
  };

  bool rank(int source, int sink);
  int64_t augment(int source, int sink);

  std::vector<Edge> edges; // the reverse of edge i is edge i ^ 1
  std::vector<std::vector<int>> adjacency;
  std::vector<int> level;
  std::vector<size_t> next;
};

} // namespace cleave

#endif

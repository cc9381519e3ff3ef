#include "compiler/Pipeline/Schedule.h"

namespace cleave::pipeline {

static char letterOf(Action action) {
  switch (action) {
  case Action::Forward:
    return 'F';
  case Action::Backward:
    return 'B';
  case Action::BackwardInput:
    return 'I';
  case Action::BackwardWeight:
    return 'W';
  case Action::Update:
    break;
  }
  return 'U';
}

std::string toString(const Task &task) {
  if (task.action == Action::Update)
    return "update";
  return std::to_string(task.chunk) + letterOf(task.action) + std::to_string(task.microBatch);
}

std::string toString(const Schedule &schedule) {
  std::string text;
  for (int rank = 0; rank < schedule.numRanks(); ++rank) {
    text += "rank " + std::to_string(rank) + ":";
    for (const Task &task : schedule.ranks[rank])
      text += " " + toString(task);
    text += "\n";
  }
  return text;
}

ChunkGraph ChunkGraph::chain(int chunks) {
  ChunkGraph graph{chunks, {}};
  for (int chunk = 0; chunk + 1 < chunks; ++chunk)
    graph.edges.push_back({chunk, chunk + 1, true});
  return graph;
}

std::vector<int> placeInTurn(int ranks, int chunksPerRank) {
  std::vector<int> rankOf;
  for (int chunk = 0; chunk < ranks * chunksPerRank; ++chunk)
    rankOf.push_back(chunk % ranks);
  return rankOf;
}

std::vector<int> placeAsV(int ranks) {
  std::vector<int> rankOf;
  for (int chunk = 0; chunk < 2 * ranks; ++chunk)
    rankOf.push_back(chunk < ranks ? chunk : 2 * ranks - 1 - chunk);
  return rankOf;
}

} // namespace cleave::pipeline

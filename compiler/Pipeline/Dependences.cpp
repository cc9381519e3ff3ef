#include "compiler/Pipeline/Dependences.h"

namespace cleave::pipeline {

TaskTable::TaskTable(const Schedule &schedule) : schedule_(schedule) {
  size_t pairs = static_cast<size_t>(schedule.numChunks()) * schedule.microBatches;
  forward_.assign(pairs, -1);
  backward_.assign(pairs, -1);
  weight_.assign(pairs, -1);
  for (int rank = 0; rank < schedule.numRanks(); ++rank) {
    firstOf_.push_back(size());
    for (const Task &task : schedule.ranks[rank]) {
      int number = size();
      rankOf_.push_back(rank);
      if (task.action == Action::Update)
        continue;
      int index = at(task.chunk, task.microBatch);
      if (task.action == Action::Forward)
        forward_[index] = number;
      if (task.action == Action::Backward || task.action == Action::BackwardInput)
        backward_[index] = number;
      if (task.action == Action::Backward || task.action == Action::BackwardWeight)
        weight_[index] = number;
    }
  }
}

std::vector<std::vector<int>> dependences(const TaskTable &table, const Schedule &schedule, const ChunkGraph &graph) {
  std::vector<std::vector<int>> before(table.size());
  for (int chunk = 0; chunk < schedule.numChunks(); ++chunk)
    for (int i = 0; i < schedule.microBatches; ++i) {
      int backward = table.backward(chunk, i), weight = table.weight(chunk, i);
      before[backward].push_back(table.forward(chunk, i));
      if (weight != backward)
        before[weight].push_back(backward);
    }
  for (const ChunkEdge &edge : graph.edges)
    for (int i = 0; i < schedule.microBatches; ++i) {
      before[table.forward(edge.to, i)].push_back(table.forward(edge.from, i));
      if (edge.gradient)
        before[table.backward(edge.from, i)].push_back(table.backward(edge.to, i));
    }
  return before;
}

} // namespace cleave::pipeline

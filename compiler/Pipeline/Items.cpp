#include "compiler/Pipeline/Items.h"

#include "compiler/Pipeline/Simulate.h"
#include "compiler/Pipeline/Transfers.h"

#include <map>
#include <tuple>

namespace cleave::pipeline {

namespace {

// When each task ends, on the clock by which transfersOf() orders transfers.
class Clock {
public:
  Clock(const Schedule &schedule, const ChunkGraph &graph) {
    Costs units;
    units.all = {1, 1, 1};
    timeline = simulate(schedule, graph, units);
    for (const std::vector<Span> &spans : timeline.ranks)
      for (const Span &span : spans)
        ends[keyOf(span.task)] = span.end;
  }
  double endOf(const Task &task) const { return ends.at(keyOf(task)); }

  Timeline timeline;

private:
  static std::tuple<Action, int, int> keyOf(const Task &task) { return {task.action, task.chunk, task.microBatch}; }
  std::map<std::tuple<Action, int, int>, double> ends;
};

} // namespace

std::vector<std::vector<Item>> itemsOf(const Schedule &schedule, const ChunkGraph &graph) {
  Clock clock(schedule, graph);
  std::vector<std::vector<Item>> transfers(schedule.numRanks()), items(schedule.numRanks());
  for (const Transfer &transfer : transfersOf(schedule, graph)) {
    Item item{ItemKind::Send, transfer.producer, transfer.edge, transfer.gradient, transfer.receiver};
    transfers[transfer.sender].push_back(item);
    item.kind = ItemKind::Receive;
    item.peer = transfer.sender;
    transfers[transfer.receiver].push_back(item);
  }
  for (int rank = 0; rank < schedule.numRanks(); ++rank) {
    auto next = transfers[rank].begin();
    for (const Span &span : clock.timeline.ranks[rank]) {
      for (; next != transfers[rank].end() && clock.endOf(next->task) <= span.start; ++next)
        items[rank].push_back(*next);
      if (span.task.action != Action::Update)
        items[rank].push_back({ItemKind::Run, span.task});
    }
    items[rank].insert(items[rank].end(), next, transfers[rank].end());
  }
  return items;
}

} // namespace cleave::pipeline

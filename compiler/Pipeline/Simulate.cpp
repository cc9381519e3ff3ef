#include "compiler/Pipeline/Simulate.h"

#include "compiler/Pipeline/Dependences.h"

#include <algorithm>

namespace cleave::pipeline {

double Costs::of(const Task &task) const {
  switch (task.action) {
  case Action::Forward:
    return of(task.chunk).forward;
  case Action::Backward:
    return of(task.chunk).backwardInput + of(task.chunk).backwardWeight;
  case Action::BackwardInput:
    return of(task.chunk).backwardInput;
  case Action::BackwardWeight:
    return of(task.chunk).backwardWeight;
  case Action::Update:
    break;
  }
  return update;
}

namespace {

// Runs one step after another.
class Run {
public:
  Run(const Schedule &schedule, const ChunkGraph &graph, const Costs &costs)
      : schedule_(schedule), costs_(costs), table_(schedule), before_(dependences(table_, schedule, graph)),
        freeAt_(schedule.numRanks()) {}

  Timeline step() {
    end_.assign(table_.size(), -1);
    Timeline timeline;
    timeline.ranks.resize(schedule_.numRanks());
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < schedule_.numRanks(); ++rank)
        moved |= advance(rank, timeline.ranks[rank]);
    }
    timeline.duration = *std::max_element(freeAt_.begin(), freeAt_.end());
    return timeline;
  }

private:
  bool advance(int rank, std::vector<Span> &spans) {
    bool moved = false;
    for (; spans.size() < schedule_.ranks[rank].size(); moved = true) {
      int number = table_.number(rank, static_cast<int>(spans.size()));
      double ready = readyAt(number);
      if (ready < 0)
        break;
      const Task &task = table_.task(number);
      double start = std::max(ready, freeAt_[rank]);
      freeAt_[rank] = end_[number] = start + costs_.of(task);
      spans.push_back({task, start, end_[number]});
    }
    return moved;
  }

  // Returns when everything that the task waits for is there; negative: it is not there yet.
  double readyAt(int number) const {
    double ready = 0;
    for (int other : before_[number]) {
      if (end_[other] < 0)
        return -1;
      bool near = table_.rankOf(other) == table_.rankOf(number);
      ready = std::max(ready, end_[other] + (near ? 0 : costs_.transfer));
    }
    return ready;
  }

  const Schedule &schedule_;
  const Costs &costs_;
  TaskTable table_;
  std::vector<std::vector<int>> before_;
  std::vector<double> freeAt_, end_;
};

} // namespace

Timeline simulate(const Schedule &schedule, const ChunkGraph &graph, const Costs &costs) {
  return Run(schedule, graph, costs).step();
}

double busyTime(const Schedule &schedule, const Costs &costs) {
  double busy = 0;
  for (const std::vector<Task> &tasks : schedule.ranks)
    for (const Task &task : tasks)
      busy += costs.of(task);
  return busy;
}

double idleShare(const Timeline &timeline) {
  double busy = 0;
  for (const std::vector<Span> &spans : timeline.ranks)
    for (const Span &span : spans)
      busy += span.end - span.start;
  return 1 - busy / (timeline.duration * static_cast<double>(timeline.ranks.size()));
}

double idleShareInARow(const Schedule &schedule, const ChunkGraph &graph, const Costs &costs) {
  // Delays from rank to rank settle within as many steps as there are ranks. The period is the mean over as many
  // further steps, because steps may alternate.
  int ranks = schedule.numRanks();
  Run run(schedule, graph, costs);
  double settled = 0, ended = 0;
  for (int step = 0; step < 2 * ranks; ++step) {
    ended = run.step().duration;
    if (step + 1 == ranks)
      settled = ended;
  }
  double period = (ended - settled) / ranks;
  return 1 - busyTime(schedule, costs) / (period * ranks);
}

} // namespace cleave::pipeline

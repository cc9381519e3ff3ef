// A lower bound of the duration of a step that keeps the order of a schedule's lists, if each message takes `delay`. A
// pass begins when its inputs have arrived. A link carries one message at a time in each direction, separately for
// activations and gradients. There are no frames and no streams here, and nothing of the compiler but the lists.
#ifndef CLEAVE_TEST_COMPILER_PLANNING_LEASTDURATION_H
#define CLEAVE_TEST_COMPILER_PLANNING_LEASTDURATION_H

#include "compiler/Pipeline/Schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace cleave {

class LeastDuration {
public:
  // `delay` is the time of all messages from one pass to another.
  LeastDuration(const pipeline::Schedule &schedule, bool isSplit, const std::vector<double> &costs, double delay)
      : schedule(schedule), isSplit(isSplit), costs(costs), delay(delay) {}

  double run() {
    std::vector<size_t> next(schedule.ranks.size());
    std::vector<double> clock(schedule.ranks.size());
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t rank = 0; rank < next.size(); ++rank)
        for (; next[rank] < schedule.ranks[rank].size() && runTask(schedule.ranks[rank][next[rank]], clock[rank]);
             ++next[rank])
          moved = true;
    }
    for (size_t rank = 0; rank < next.size(); ++rank)
      EXPECT_EQ(next[rank], schedule.ranks[rank].size()); // otherwise tasks wait for each other
    return *std::max_element(clock.begin(), clock.end());
  }

private:
  using Message = std::tuple<bool, int, int>; // is it a gradient, the chunk that it is for, the micro-batch

  // Returns false if an input of the task has not arrived yet.
  bool runTask(const pipeline::Task &task, double &clock) {
    using pipeline::Action;
    int chunk = task.chunk, last = static_cast<int>(schedule.rankOfChunk.size()) - 1;
    bool isForward = task.action == Action::Forward;
    if (task.action == Action::Update)
      return true;
    if (task.action == Action::BackwardWeight) {
      clock += costs[chunk];
      return true;
    }
    if (chunk != (isForward ? 0 : last)) {
      auto arrived = arrivals.find({!isForward, chunk, task.microBatch});
      if (arrived == arrivals.end())
        return false;
      clock = std::max(clock, arrived->second);
    }
    bool isWhole = task.action == Action::Backward;
    clock += costs[chunk] * (isWhole && !isSplit ? 2 : 1);
    if (int to = chunk + (isForward ? 1 : -1); to >= 0 && to <= last)
      send({!isForward, to, task.microBatch}, schedule.rankOfChunk[chunk], schedule.rankOfChunk[to], clock);
    if (isWhole && isSplit) // the gradient is sent before those of the weights are computed
      clock += costs[chunk];
    return true;
  }

  void send(const Message &message, int from, int to, double made) {
    double &link = links[{from, to, std::get<0>(message)}];
    arrivals[message] = from == to ? made : link = std::max(link, made) + delay;
  }

  const pipeline::Schedule &schedule;
  bool isSplit;
  const std::vector<double> &costs; // costs of a chunk's forward pass, and of each half of its backward pass
  double delay;
  std::map<Message, double> arrivals;
  std::map<std::tuple<int, int, bool>, double> links; // the times at which they become free
};

} // namespace cleave

#endif

#include "compiler/Pipeline/ZeroBubbleGreedy.h"

#include "compiler/Pipeline/ScheduleBuilder.h"

#include <algorithm>
#include <limits>

namespace cleave::pipeline {

namespace {

struct Choices {
  double leastGap;   // start a W if the gap is at least this part of its time
  bool forwardFirst; // if both F and I have arrived
};

class Greedy {
public:
  Greedy(const ScheduleRequest &request, int frames, Choices choices)
      : request_(request), frames_(frames), choices_(choices), freeAt_(request.ranks), forwardEnd_(request.ranks),
        inputEnd_(request.ranks) {
    for (int rank = 0; rank < request.ranks; ++rank)
      lists_.emplace_back(request.ranks, request.microBatches);
  }

  Schedule run() {
    // Each rank that is free at `now` starts what it can. Then the time advances to the next end of a task or the next
    // arrival.
    for (double now = 0; now != kUnknown; now = nextTime(now))
      for (bool started = true; started;) {
        started = false;
        for (int rank = 0; rank < request_.ranks; ++rank)
          started |= freeAt_[rank] <= now && start(rank, now);
      }
    Schedule schedule{"", request_.microBatches, placeInTurn(request_.ranks, 1), {}};
    for (ScheduleBuilder &list : lists_)
      schedule.ranks.push_back(list.take());
    return schedule;
  }

private:
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();

  // Returns when the input of the rank's next F or I arrives; unknown while the rank before (after) it has not begun to
  // make it.
  double forwardAt(int rank) const {
    int i = lists_[rank].forwards(rank);
    if (i == request_.microBatches || i - lists_[rank].weights(rank) >= frames_)
      return kUnknown;
    return rank == 0 ? 0 : endOf(forwardEnd_[rank - 1], i);
  }
  double inputAt(int rank) const {
    int i = lists_[rank].inputs(rank);
    if (i == lists_[rank].forwards(rank))
      return kUnknown;
    return rank == request_.ranks - 1 ? 0 : endOf(inputEnd_[rank + 1], i);
  }
  double endOf(const std::vector<double> &ends, int i) const {
    return i < static_cast<int>(ends.size()) ? ends[i] + request_.costs.transfer : kUnknown;
  }

  bool start(int rank, double now) {
    double forward = forwardAt(rank), input = inputAt(rank);
    ScheduleBuilder &list = lists_[rank];
    const TaskCosts &costs = request_.costs.of(rank);
    bool canForward = forward <= now, canInput = input <= now;
    if (canForward && (!canInput || choices_.forwardFirst)) {
      list.forward(rank);
      forwardEnd_[rank].push_back(freeAt_[rank] = now + costs.forward);
      return true;
    }
    if (canInput) {
      list.backwardInput(rank);
      inputEnd_[rank].push_back(freeAt_[rank] = now + costs.backwardInput);
      return true;
    }
    bool kept = list.weights(rank) < list.inputs(rank);
    if (!kept || std::min(forward, input) - now < choices_.leastGap * costs.backwardWeight)
      return false;
    list.backwardWeight(rank);
    freeAt_[rank] = now + costs.backwardWeight;
    return true;
  }

  double nextTime(double now) const {
    double next = kUnknown;
    for (int rank = 0; rank < request_.ranks; ++rank)
      for (double time : {freeAt_[rank], forwardAt(rank), inputAt(rank)})
        if (time > now)
          next = std::min(next, time);
    return next;
  }

  const ScheduleRequest &request_;
  int frames_;
  Choices choices_;
  std::vector<double> freeAt_;
  std::vector<std::vector<double>> forwardEnd_, inputEnd_;
  std::vector<ScheduleBuilder> lists_;
};

} // namespace

std::vector<Schedule> greedyZeroBubbles(const ScheduleRequest &request, int frames) {
  std::vector<Schedule> schedules;
  for (double leastGap : {0.0, 0.25, 0.5, 0.75, 1.0})
    for (bool forwardFirst : {false, true})
      schedules.push_back(Greedy(request, frames, {leastGap, forwardFirst}).run());
  return schedules;
}

} // namespace cleave::pipeline

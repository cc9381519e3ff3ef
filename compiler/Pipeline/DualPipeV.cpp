// DualPipeV is DualPipe (DeepSeek-V3) with each pair of mirrored ranks merged into one ("cut in half", Sea AI Lab).
// Rank r has two chunks: `down`, the r-th from the beginning, and `up`, the r-th from the end. The last rank passes its
// micro-batches on to itself, and the loss comes back to rank 0. In the middle of the step, each rank alternates
// between a forward pass of one chunk and a backward pass of the other. The messages of one then overlap the
// computation of the other.
//
// With o = p-1-r, the number of ranks after this one, its list is (F, B, I, W as in Schedule.h; d: down, u: up):
//
//   fill     2o  times  Fd            until the first micro-batch comes back up
//            r+1 times  Fd Fu
//            o   times  Iu W Fu       gradients go down the up side as soon as they can
//   middle   m - 2p + r+1 times       Fd Bu Fu Bd
//   drain    o   times  Bu Fu Bd
//            r+1 times  Bu Bd         the second half of these passes are I instead of B, and their W waits
//            o   times  W Id
//            W for the rest
//
// W takes the kept passes in the order in which they were kept. DualPipe's overlapped pairs are sequential tasks here.
#include "compiler/Pipeline/ScheduleBuilder.h"
#include "compiler/Pipeline/Schedules.h"

#include <deque>

namespace cleave::pipeline {

namespace {

class RankList {
public:
  RankList(int ranks, int microBatches, int rank)
      : list_(2 * ranks, microBatches), ranks_(ranks), microBatches_(microBatches), rank_(rank), down_(rank),
        up_(2 * ranks - 1 - rank) {}

  std::vector<Task> make() {
    int after = ranks_ - 1 - rank_;
    fill(after);
    for (int i = 0; i < microBatches_ - 2 * ranks_ + rank_ + 1; ++i) {
      list_.forward(down_);
      list_.backward(up_);
      list_.forward(up_);
      list_.backward(down_);
    }
    drain(after);
    return list_.take();
  }

private:
  void fill(int after) {
    for (int i = 0; i < 2 * after; ++i)
      list_.forward(down_);
    for (int i = 0; i <= rank_; ++i) {
      list_.forward(down_);
      list_.forward(up_);
    }
    for (int i = 0; i < after; ++i) {
      input(up_);
      weight();
      list_.forward(up_);
    }
  }

  void drain(int after) {
    for (int i = 0; i < after; ++i) {
      list_.backward(up_);
      list_.forward(up_);
      list_.backward(down_);
    }
    // Of the 2(r+1) backward passes that follow, the last r+1 are split.
    for (int i = 0; i < 2 * (rank_ + 1); ++i) {
      int chunk = i % 2 == 0 ? up_ : down_;
      if (i > rank_)
        input(chunk);
      else
        list_.backward(chunk);
    }
    for (int i = 0; i < after; ++i) {
      weight();
      input(down_);
    }
    while (!kept_.empty())
      weight();
  }

  void input(int chunk) {
    list_.backwardInput(chunk);
    kept_.push_back(chunk);
  }
  void weight() {
    list_.backwardWeight(kept_.front());
    kept_.pop_front();
  }

  ScheduleBuilder list_;
  int ranks_, microBatches_, rank_, down_, up_;
  std::deque<int> kept_; // chunks whose W is still to come
};

} // namespace

Result<Schedule> makeDualPipeV(const ScheduleRequest &request) {
  int p = request.ranks;
  if (request.microBatches < 2 * p)
    return Problem{"schedule dualpipe-v needs at least as many micro-batches as chunks: " + std::to_string(2 * p) +
                   " for " + std::to_string(p) + " pipeline ranks, got " + std::to_string(request.microBatches) +
                   "; use " + std::to_string(2 * p) + " micro-batches, or 1f1b, which takes any number"};
  Schedule schedule{"", request.microBatches, placeAsV(p), {}};
  for (int rank = 0; rank < p; ++rank)
    schedule.ranks.push_back(RankList(p, request.microBatches, rank).make());
  return schedule;
}

} // namespace cleave::pipeline

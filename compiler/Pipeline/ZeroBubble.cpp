// ZB-H1 and ZB-H2 (Qi et al., "Zero Bubble Pipeline Parallelism", arXiv 2401.10241).
//
// The backward pass is split: earlier ranks wait only for I, and W can fill any gap before the update. Both schedules
// have one form, with two numbers for each rank: how many forward passes it begins with, and how many W it keeps back:
//
//   F x begin,  then I, and for each further micro-batch: W if more than `back` are kept, F if any is left, I;
//   then the remaining W
//
//          begin          back    frames
//   H1     p - rank       rank    p         1F1B's memory; the gaps at the end are filled
//   H2     2(p - rank)-1  2 rank  2p - 1    the gaps at the beginning, too: a parallelogram; steps join without a gap
//
// These forms are best if F = I = W. For other costs, lists that are made greedily under the same limit of frames
// (ZeroBubbleGreedy.h) are tried as well. The schedule with the shortest period is taken, then the one with the
// shortest step. The form is taken if nothing is better. H2 also tries everything that H1 tries, because with few
// micro-batches more frames only lead astray.
#include "compiler/Pipeline/ScheduleBuilder.h"
#include "compiler/Pipeline/Schedules.h"
#include "compiler/Pipeline/ZeroBubbleGreedy.h"

#include <utility>

namespace cleave::pipeline {

namespace {
struct Form {
  int begin, back;
};
} // namespace

static std::vector<Task> listOf(const ScheduleRequest &request, int rank, Form form) {
  ScheduleBuilder list(request.ranks, request.microBatches);
  for (int i = 0; i < form.begin; ++i)
    list.forward(rank);
  while (list.backwardInput(rank)) {
    if (list.inputs(rank) == request.microBatches)
      break;
    if (list.inputs(rank) - list.weights(rank) > form.back)
      list.backwardWeight(rank);
    list.forward(rank);
  }
  while (list.backwardWeight(rank)) {
  }
  return list.take();
}

// Compares the period, then the duration. Equal lengths differ by rounding.
static bool isShorter(const std::pair<double, double> &a, const std::pair<double, double> &b) {
  const double same = 1e-9;
  if (a.first < b.first - same)
    return true;
  return a.first <= b.first + same && a.second < b.second - same;
}

static Form formH1(int ranks, int rank) { return {ranks - rank, rank}; }
static Form formH2(int ranks, int rank) { return {2 * (ranks - rank) - 1, 2 * rank}; }

// Returns the form, and then the greedy lists with this number of frames.
static std::vector<Schedule> candidates(const ScheduleRequest &request, Form (*formOf)(int, int), int frames) {
  Schedule form{"", request.microBatches, placeInTurn(request.ranks, 1), {}};
  for (int rank = 0; rank < request.ranks; ++rank)
    form.ranks.push_back(listOf(request, rank, formOf(request.ranks, rank)));
  std::vector<Schedule> all = greedyZeroBubbles(request, frames);
  all.insert(all.begin(), std::move(form));
  return all;
}

static Schedule shortest(const ScheduleRequest &request, std::vector<Schedule> all) {
  ChunkGraph chain = ChunkGraph::chain(request.ranks);
  auto lengths = [&](const Schedule &schedule) {
    return std::make_pair(idleShareInARow(schedule, chain, request.costs),
                          idleShare(simulate(schedule, chain, request.costs)));
  };
  size_t best = 0;
  std::pair<double, double> least = lengths(all[0]);
  for (size_t i = 1; i < all.size(); ++i)
    if (std::pair<double, double> length = lengths(all[i]); isShorter(length, least)) {
      least = length;
      best = i;
    }
  return std::move(all[best]);
}

Result<Schedule> makeZeroBubbleH1(const ScheduleRequest &request) {
  return shortest(request, candidates(request, formH1, request.ranks));
}

Result<Schedule> makeZeroBubbleH2(const ScheduleRequest &request) {
  std::vector<Schedule> all = candidates(request, formH2, 2 * request.ranks - 1);
  for (Schedule &schedule : candidates(request, formH1, request.ranks))
    all.push_back(std::move(schedule));
  return shortest(request, std::move(all));
}

} // namespace cleave::pipeline

#include "compiler/Planning/Draft/Liveness.h"

#include <algorithm>
#include <array>
#include <map>

namespace cleave::plan {

namespace {

// Which steps are known to be done when another one runs: vector clocks over records and waits.
class StepOrder {
public:
  explicit StepOrder(const std::vector<Step> &steps) : steps_(steps) {
    std::array<Clock, kStreams> streams{};
    std::map<unsigned, Clock> events;
    for (size_t at = 0; at < steps.size(); ++at) {
      const Step &step = steps[at];
      Clock &clock = streams[step.stream];
      if (step.kind == StepKind::Wait)
        for (unsigned stream = 0; stream < kStreams; ++stream)
          clock[stream] = std::max(clock[stream], events[step.event][stream]);
      ++clock[step.stream];
      if (step.kind == StepKind::Record)
        events[step.event] = clock;
      clocks_.push_back(clock);
      if (step.stream == kComputeStream)
        compute_.push_back(at);
    }
  }

  bool precedes(size_t a, size_t b) const {
    unsigned stream = steps_[a].stream;
    return clocks_[b][stream] >= clocks_[a][stream];
  }
  // The position of the first stream's last step that is done before `at` runs; 0 when none is known to be.
  size_t lastJoinBefore(size_t at) const {
    size_t known = clocks_[at][kComputeStream];
    return known == 0 ? 0 : compute_[known - 1];
  }
  // The position from which the first stream knows that `at` is done; the end when it never does.
  size_t nextJoinAfter(size_t at) const {
    auto next = std::upper_bound(compute_.begin(), compute_.end(), at);
    auto knows = std::partition_point(next, compute_.end(), [&](size_t step) { return !precedes(at, step); });
    return knows == compute_.end() ? steps_.size() - 1 : *knows;
  }

private:
  using Clock = std::array<size_t, kStreams>; // how many steps of each stream are done
  const std::vector<Step> &steps_;
  std::vector<Clock> clocks_;
  std::vector<size_t> compute_; // positions of the first stream's steps
};

} // namespace

// Where other streams than the first begin or end a root.
static void findEnds(const std::vector<Step> &steps, const StepOrder &order,
                     const std::vector<std::vector<size_t>> &uses, std::vector<std::optional<Span>> &spans) {
  for (size_t root = 0; root < spans.size(); ++root) {
    if (!spans[root])
      continue;
    size_t first = uses[root].front(), last = uses[root].back();
    auto all = [&](auto &&holds) { return std::all_of(uses[root].begin(), uses[root].end(), holds); };
    if (steps[first].stream != kComputeStream && all([&](size_t at) { return order.precedes(first, at); }))
      spans[root]->begin = {steps[first].stream, first};
    if (steps[last].stream != kComputeStream && all([&](size_t at) { return order.precedes(at, last); }))
      spans[root]->end = {steps[last].stream, last};
  }
}

std::vector<std::optional<Span>> liveSpans(const std::vector<Step> &steps, size_t roots) {
  StepOrder order(steps);
  std::vector<std::optional<Span>> spans(roots);
  std::vector<std::vector<size_t>> uses(roots);
  for (size_t at = 0; at < steps.size(); ++at) {
    if (steps[at].uses.empty())
      continue;
    bool onCompute = steps[at].stream == kComputeStream;
    Span use{onCompute ? at : order.lastJoinBefore(at), onCompute ? at : order.nextJoinAfter(at)};
    for (const RootUse &touched : steps[at].uses) {
      std::optional<Span> &span = spans[touched.root];
      span = span ? Span{std::min(span->first, use.first), std::max(span->last, use.last)} : use;
      uses[touched.root].push_back(at);
    }
  }
  findEnds(steps, order, uses, spans);
  return spans;
}

} // namespace cleave::plan

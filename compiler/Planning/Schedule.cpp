#include "compiler/Planning/Schedule.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace cleave::plan {

bool conflict(const Step &a, const Step &b, bool countScratch) {
  if (a.kind == StepKind::Barrier || b.kind == StepKind::Barrier)
    return true;
  for (const RootUse &use : a.uses)
    for (const RootUse &other : b.uses)
      if (use.conflictsWith(other) && (countScratch || !use.scratch || !other.scratch))
        return true;
  return false;
}

void hoistSteps(std::vector<Step> &steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].early)
      continue;
    size_t to = i;
    const std::vector<size_t> &after = steps[i].after;
    while (to > 0 && !conflict(steps[to - 1], steps[i], /*countScratch=*/false) &&
           std::find(after.begin(), after.end(), steps[to - 1].payload) == after.end())
      --to;
    while (to < i && steps[to].early)
      ++to;
    std::rotate(steps.begin() + to, steps.begin() + i, steps.begin() + i + 1);
  }
}

namespace {

// Decides which steps must wait for which; positions are those of the draft before events are added.
class Synchronizer {
public:
  Synchronizer(const std::vector<Step> &steps, unsigned streams)
      : steps_(steps), known_(streams, Clock(streams, 0)), clockAt_(steps.size()), ordinal_(streams, 0),
        waits_(steps.size() + 1) {}

  unsigned run();
  std::vector<Step> takeSteps();

private:
  using Clock = std::vector<uint64_t>; // [stream] -> how many of its steps are known to be done

  // Makes `stream` wait, at position `at`, for step `earlier` (-1: the program's start) unless it is known already.
  void waitFor(unsigned stream, size_t at, int64_t earlier);
  void waitForConflicts(size_t at);
  void advance(size_t at);

  std::vector<size_t> mayConflict(size_t at) const;

  const std::vector<Step> &steps_;
  std::map<size_t, size_t> positionOf_; // of a payload
  // Who has used a root so far, by stream, ascending: only these can conflict. A barrier conflicts with all.
  std::map<unsigned, std::vector<std::vector<size_t>>> usersOf_;
  std::vector<size_t> barriers_;
  std::vector<Clock> known_;   // of each stream, as it stands
  std::vector<Clock> clockAt_; // right behind each step
  std::vector<uint64_t> ordinal_;
  std::map<int64_t, unsigned> recordOf_; // step -> event recorded behind it
  struct Wait {
    unsigned stream, event;
  };
  std::vector<std::vector<Wait>> waits_; // before each step; the last entry is the program's end
};

void Synchronizer::waitFor(unsigned stream, size_t at, int64_t earlier) {
  unsigned other = earlier < 0 ? kComputeStream : steps_[earlier].stream;
  const Clock *clock = earlier < 0 ? nullptr : &clockAt_[earlier];
  if (other == stream || (clock && known_[stream][other] >= (*clock)[other]))
    return;
  auto [record, isNew] = recordOf_.try_emplace(earlier, static_cast<unsigned>(recordOf_.size()));
  waits_[at].push_back({stream, record->second});
  for (size_t s = 0; clock && s < known_.size(); ++s)
    known_[stream][s] = std::max(known_[stream][s], (*clock)[s]);
}

// Earlier steps of other streams, latest first.
std::vector<size_t> Synchronizer::mayConflict(size_t at) const {
  const Step &step = steps_[at];
  std::vector<size_t> found = barriers_;
  if (step.kind == StepKind::Barrier) {
    found.resize(at);
    std::iota(found.begin(), found.end(), size_t{0});
  }
  for (const RootUse &use : step.uses)
    if (auto users = usersOf_.find(use.root); users != usersOf_.end())
      for (unsigned stream = 0; stream < users->second.size(); ++stream)
        if (stream != step.stream)
          found.insert(found.end(), users->second[stream].begin(), users->second[stream].end());
  std::sort(found.begin(), found.end(), std::greater<>());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// Latest first: what a later step of a stream knows makes waits for earlier ones unnecessary.
void Synchronizer::waitForConflicts(size_t at) {
  for (size_t earlier : mayConflict(at))
    if (steps_[earlier].stream != steps_[at].stream && conflict(steps_[earlier], steps_[at], /*countScratch=*/true))
      waitFor(steps_[at].stream, at, static_cast<int64_t>(earlier));
  std::set<size_t, std::greater<>> named;
  for (size_t payload : steps_[at].after)
    if (auto earlier = positionOf_.find(payload); earlier != positionOf_.end())
      named.insert(earlier->second);
  for (size_t earlier : named)
    waitFor(steps_[at].stream, at, static_cast<int64_t>(earlier));
}

void Synchronizer::advance(size_t at) {
  unsigned stream = steps_[at].stream;
  known_[stream][stream] = ++ordinal_[stream];
  clockAt_[at] = known_[stream];
  positionOf_[steps_[at].payload] = at;
  if (steps_[at].kind == StepKind::Barrier)
    barriers_.push_back(at);
  for (const RootUse &use : steps_[at].uses) {
    auto &users = usersOf_.try_emplace(use.root, known_.size()).first->second[stream];
    if (users.empty() || users.back() != at)
      users.push_back(at);
  }
}

unsigned Synchronizer::run() {
  for (size_t at = 0; at < steps_.size(); ++at) {
    unsigned stream = steps_[at].stream;
    waitForConflicts(at);
    // A stream's first step, where no wait has tied it to the program's start yet.
    if (ordinal_[stream] == 0 && stream != kComputeStream && waits_[at].empty())
      waitFor(stream, at, -1);
    advance(at);
  }
  std::vector<char> joined(known_.size(), 0);
  for (size_t at = steps_.size(); at-- > 0;)
    if (!std::exchange(joined[steps_[at].stream], 1))
      waitFor(kComputeStream, steps_.size(), static_cast<int64_t>(at));
  return static_cast<unsigned>(recordOf_.size());
}

std::vector<Step> Synchronizer::takeSteps() {
  std::vector<Step> result;
  auto addEvent = [&](StepKind kind, unsigned stream, unsigned event) {
    Step step;
    step.kind = kind;
    step.stream = stream;
    step.event = event;
    result.push_back(std::move(step));
  };
  if (auto start = recordOf_.find(-1); start != recordOf_.end())
    addEvent(StepKind::Record, kComputeStream, start->second);
  for (size_t at = 0; at <= steps_.size(); ++at) {
    for (const Wait &wait : waits_[at])
      addEvent(StepKind::Wait, wait.stream, wait.event);
    if (at == steps_.size())
      break;
    result.push_back(steps_[at]);
    if (auto record = recordOf_.find(static_cast<int64_t>(at)); record != recordOf_.end())
      addEvent(StepKind::Record, steps_[at].stream, record->second);
  }
  return result;
}

} // namespace

unsigned synchronize(std::vector<Step> &steps, unsigned streams) {
  Synchronizer synchronizer(steps, streams);
  unsigned events = synchronizer.run();
  steps = synchronizer.takeSteps();
  return events;
}

} // namespace cleave::plan

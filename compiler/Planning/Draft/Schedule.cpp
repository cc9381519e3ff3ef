#include "compiler/Planning/Draft/Schedule.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
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

namespace {

// Uses of one root so far, found by their bytes: each by where it begins, in classes of length, so that the thousand
// small parts of a root are not looked at for each of them, because one step uses it all.
class UsesByBytes {
public:
  void add(uint64_t begin, uint64_t end, size_t run) { classes_[classOf(end - begin)].emplace(begin, Entry{end, run}); }
  // The last run of a use that has a byte of these, or `run`.
  size_t lastRun(uint64_t begin, uint64_t end, size_t run) const {
    for (const auto &[length, uses] : classes_)
      for (auto at = firstNear(uses, begin, length); at != uses.end() && at->first < end; ++at)
        if (begin < at->second.end)
          run = std::max(run, at->second.run);
    return run;
  }
  // Drops what lies in these bytes and stands in no later run: whoever meets it meets the use that has all of them.
  void drop(uint64_t begin, uint64_t end, size_t run) {
    for (auto &[length, uses] : classes_)
      for (auto at = uses.lower_bound(begin); at != uses.end() && at->first < end;)
        at = at->second.end <= end && at->second.run <= run ? uses.erase(at) : std::next(at);
  }

private:
  struct Entry {
    uint64_t end;
    size_t run;
  };
  using Uses = std::multimap<uint64_t, Entry>;

  // The exponent of the least power of two that is not smaller.
  static unsigned classOf(uint64_t length) {
    unsigned exponent = 0;
    while (exponent < 63 && (uint64_t(1) << exponent) < length)
      ++exponent;
    return exponent;
  }
  static Uses::const_iterator firstNear(const Uses &uses, uint64_t begin, unsigned length) {
    uint64_t longest = uint64_t(1) << length;
    return uses.lower_bound(begin > longest ? begin - longest : 0);
  }

  std::map<unsigned, Uses> classes_;
};

// What has used a root so far. Reads do not hold up reads, nor scratch scratch.
class RootUsers {
public:
  size_t lastConflict(const RootUse &use, size_t run) const {
    for (bool scratch : {false, true})
      for (bool writes : {false, true})
        if ((writes || use.writes) && !(scratch && use.scratch))
          run = uses_[scratch][writes].lastRun(use.offset, use.end(), run);
    return run;
  }
  void add(const RootUse &use, size_t run) {
    auto &uses = uses_[use.scratch];
    uses[false].drop(use.offset, use.end(), run);
    if (use.writes)
      uses[true].drop(use.offset, use.end(), run);
    uses[use.writes].add(use.offset, use.end(), run);
  }

private:
  UsesByBytes uses_[2][2]; // [scratch][writes]
};

// The order is a sequence of runs: a step that is not early, and the early ones that stand right behind it. An early
// step comes last in the run of the last step that it must follow, which its roots and `after` tell: walking up to that
// step would take quadratic time where everything is early, as in a plan of many units and offloaded states.
class Hoisting {
public:
  explicit Hoisting(std::vector<Step> &steps) : steps_(steps) {}

  void run() {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (!steps_[i].early)
        runs_.emplace_back();
      add(i, steps_[i].early && steps_[i].kind != StepKind::Barrier ? runFor(steps_[i]) : runs_.size() - 1);
    }
    std::vector<Step> ordered;
    ordered.reserve(steps_.size());
    for (const std::vector<size_t> &run : runs_)
      for (size_t i : run)
        ordered.push_back(std::move(steps_[i]));
    steps_ = std::move(ordered);
  }

private:
  size_t runFor(const Step &step) const {
    size_t run = lastBarrier_;
    for (const RootUse &use : step.uses)
      if (auto users = usersOf_.find(use.root); users != usersOf_.end())
        run = users->second.lastConflict(use, run);
    for (size_t payload : step.after)
      if (auto found = runOf_.find(payload); found != runOf_.end())
        run = std::max(run, found->second);
    return run;
  }

  void add(size_t i, size_t run) {
    runs_[run].push_back(i);
    runOf_[steps_[i].payload] = run;
    if (steps_[i].kind == StepKind::Barrier)
      lastBarrier_ = run;
    for (const RootUse &use : steps_[i].uses)
      usersOf_[use.root].add(use, run);
  }

  std::vector<Step> &steps_;
  std::vector<std::vector<size_t>> runs_ = std::vector<std::vector<size_t>>(1); // the first one has early steps alone
  std::unordered_map<unsigned, RootUsers> usersOf_;
  std::unordered_map<size_t, size_t> runOf_; // of a payload
  size_t lastBarrier_ = 0;
};

} // namespace

void hoistSteps(std::vector<Step> &steps) { Hoisting(steps).run(); }

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

#include "compiler/Planning/Draft/Prefetch.h"

#include "compiler/Planning/Draft/Schedule.h"

#include <algorithm>
#include <map>

namespace cleave::plan {

namespace {

// Positions are those in the list of steps without gathers: `p` means in front of step p.
struct Unit {
  std::vector<Step> steps; // each fills its first use
  bool backward = false;
  size_t earliest = 0; // behind what its input waits for
  size_t first = 0;    // the first step that must come behind it
  size_t last = 0;     // the last one that uses what it gathers
  size_t issue = 0;
  bool resident = false;

  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const Step &step : steps)
      sum += step.uses.front().bytes;
    return sum;
  }
};

class Prefetcher {
public:
  // Of gathers alone, or of copies alone.
  Prefetcher(std::vector<Step> &steps, const std::vector<Gather> &gathers, const PrefetchOptions &options, bool copies)
      : steps_(steps), gathers_(gathers), options_(options), copies_(copies), units_(gathers.size()) {
    for (size_t i = 0; i < gathers.size(); ++i)
      units_[i].backward = gathers[i].backward;
  }

  void run() {
    takeOut();
    std::stable_sort(units_.begin(), units_.end(), [](const Unit &a, const Unit &b) { return a.first < b.first; });
    if (copies_)
      joinUnits();
    for (size_t k = 0; k + bound() < units_.size(); ++k)
      units_[k].resident = units_[k].last >= units_[k + bound()].first;
    choosePositions();
    putBack();
  }

private:
  size_t bound() const { return std::max(1u, options_.inFlight); }

  void takeOut();
  std::vector<size_t> mayMeet(const Unit &unit) const;
  void findUses(Unit &unit, size_t position);
  void joinUnits();
  size_t wanted(size_t k) const;
  size_t computeBefore(size_t position) const;
  void choosePositions();
  void waitForEnd(Unit &unit, const Unit &done);
  void putBack();

  std::vector<Step> &steps_;
  const std::vector<Gather> &gathers_;
  const PrefetchOptions &options_;
  bool copies_;
  std::vector<Unit> units_;
  // Without an index every gather would be compared with every step.
  std::map<unsigned, std::vector<size_t>> usersOf_; // root -> steps
  std::vector<size_t> barriers_;
};

void Prefetcher::takeOut() {
  std::vector<Step> rest;
  std::vector<size_t> position(units_.size(), 0); // where each one stood
  for (Step &step : steps_) {
    if (!step.gather || gathers_[*step.gather].isCopy != copies_) {
      rest.push_back(std::move(step));
      continue;
    }
    std::vector<Step> &steps = units_[*step.gather].steps;
    // A gather's part may be made long before it is gathered, and its state changed in between; copies moved up, each
    // behind what it waits for.
    if (copies_ || steps.empty())
      position[*step.gather] = rest.size();
    steps.push_back(std::move(step));
  }
  steps_ = std::move(rest);
  for (size_t at = 0; at < steps_.size(); ++at) {
    if (steps_[at].kind == StepKind::Barrier)
      barriers_.push_back(at);
    for (const RootUse &use : steps_[at].uses)
      usersOf_[use.root].push_back(at);
  }
  for (size_t i = 0; i < units_.size(); ++i)
    if (!units_[i].steps.empty()) // what fills a state is no unit
      findUses(units_[i], position[i]);
  units_.erase(std::remove_if(units_.begin(), units_.end(), [](const Unit &unit) { return unit.steps.empty(); }),
               units_.end());
}

// The steps that may conflict with one of the unit's, in order.
std::vector<size_t> Prefetcher::mayMeet(const Unit &unit) const {
  std::vector<size_t> found = barriers_;
  for (const Step &step : unit.steps)
    for (const RootUse &use : step.uses)
      if (auto users = usersOf_.find(use.root); users != usersOf_.end())
        found.insert(found.end(), users->second.begin(), users->second.end());
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void Prefetcher::findUses(Unit &unit, size_t position) {
  auto meets = [&](size_t at) {
    return std::any_of(unit.steps.begin(), unit.steps.end(),
                       [&](const Step &step) { return conflict(steps_[at], step, /*countScratch=*/false); });
  };
  Step filling;
  for (const Step &step : unit.steps)
    if (copies_ || &step == &unit.steps.back()) // the others of a gather make its part
      filling.uses.push_back(step.uses.front());
  unit.earliest = 0;
  unit.first = unit.last = position;
  bool found = false;
  for (size_t at : mayMeet(unit)) {
    if (!meets(at))
      continue;
    if (at < position) {
      unit.earliest = at + 1;
      continue;
    }
    unit.first = found ? unit.first : at;
    found = true;
    // A step that only changes what was gathered ends nothing: it must come behind, no more.
    unit.last = conflict(steps_[at], filling, false) ? at : std::max(unit.last, unit.first);
  }
}

// A unit is worth a copy of the largest one's size; units are in the order of their first uses.
void Prefetcher::joinUnits() {
  uint64_t largest = 0;
  for (const Unit &unit : units_)
    largest = std::max(largest, unit.bytes());
  std::vector<Unit> joined;
  for (Unit &unit : units_) {
    Unit *before = joined.empty() ? nullptr : &joined.back();
    if (!before || before->backward != unit.backward || unit.earliest > before->first ||
        before->bytes() + unit.bytes() > largest) {
      joined.push_back(std::move(unit));
      continue;
    }
    before->earliest = std::max(before->earliest, unit.earliest);
    before->last = std::max(before->last, unit.last);
    for (Step &step : unit.steps)
      before->steps.push_back(std::move(step));
  }
  units_ = std::move(joined);
}

// The first copy may be for the update at the program's end: it runs beside the step before its use, no longer.
size_t Prefetcher::computeBefore(size_t position) const {
  while (position > 0 && steps_[--position].stream != kComputeStream)
    ;
  return position;
}

// Where the options want it, the bound aside.
size_t Prefetcher::wanted(size_t k) const {
  const Unit &unit = units_[k];
  size_t ahead = bound() - 1;
  bool none = unit.backward ? options_.backward == BackwardPrefetch::None : !options_.forward;
  if (none || ahead == 0)
    return unit.first;
  if (k < ahead)
    return copies_ ? computeBefore(unit.first) : unit.earliest;
  const Unit &before = units_[k - ahead];
  return unit.backward && options_.backward == BackwardPrefetch::Post ? before.last + 1 : before.first;
}

void Prefetcher::waitForEnd(Unit &unit, const Unit &done) {
  unit.issue = std::max(unit.issue, done.last + 1);
  if (done.last < steps_.size())
    unit.steps.front().after.push_back(steps_[done.last].payload);
}

// The bound can always be met: a unit that is not resident is done before the first use of the N-th after it.
void Prefetcher::choosePositions() {
  std::vector<const Unit *> counted;
  size_t previous = 0;
  for (size_t k = 0; k < units_.size(); ++k) {
    Unit &unit = units_[k];
    unit.issue = std::max({std::min(wanted(k), unit.first), unit.earliest, previous});
    if (!unit.resident) {
      if (counted.size() >= bound())
        waitForEnd(unit, *counted[counted.size() - bound()]);
      counted.push_back(&unit);
    }
    previous = unit.issue;
  }
}

void Prefetcher::putBack() {
  std::vector<Step> result;
  std::optional<size_t> lastCompute;
  size_t k = 0;
  for (size_t at = 0; at <= steps_.size(); ++at) {
    for (; k < units_.size() && units_[k].issue == at; ++k)
      for (Step &step : units_[k].steps) {
        if (lastCompute)
          step.after.push_back(*lastCompute);
        result.push_back(std::move(step));
      }
    if (at == steps_.size())
      break;
    if (steps_[at].stream == kComputeStream)
      lastCompute = steps_[at].payload;
    result.push_back(std::move(steps_[at]));
  }
  steps_ = std::move(result);
}

} // namespace

void prefetchGathers(std::vector<Step> &steps, const std::vector<Gather> &gathers, const PrefetchOptions &options) {
  for (bool copies : {false, true})
    if (std::any_of(gathers.begin(), gathers.end(), [&](const Gather &gather) { return gather.isCopy == copies; }))
      Prefetcher(steps, gathers, options, copies).run();
}

void boundCopiesOut(std::vector<Step> &steps, unsigned inFlight) {
  std::vector<size_t> issued; // payloads
  for (Step &step : steps) {
    if (step.isCopyOut)
      issued.push_back(step.payload);
    else if (step.stream == kComputeStream && issued.size() > inFlight)
      step.after.push_back(issued[issued.size() - inFlight - 1]);
  }
}

void boundReductions(std::vector<Step> &steps, const std::vector<char> &bounded, unsigned inFlight) {
  struct Buffer {
    std::optional<size_t> begin; // the first step that fills it
    size_t end = 0;
    bool reduced = false;
  };
  std::vector<Buffer> buffers(bounded.size());
  for (size_t at = 0; at < steps.size(); ++at)
    for (const RootUse &use : steps[at].uses)
      if (bounded[use.root]) {
        buffers[use.root].begin = buffers[use.root].begin.value_or(at);
        buffers[use.root].end = at;
        buffers[use.root].reduced |= steps[at].stream == kReduceStream;
      }
  std::vector<Buffer> inOrder;
  for (const Buffer &buffer : buffers)
    if (buffer.reduced && steps[*buffer.begin].stream == kComputeStream && steps[buffer.end].stream != kComputeStream)
      inOrder.push_back(buffer);
  std::sort(inOrder.begin(), inOrder.end(), [](const Buffer &a, const Buffer &b) { return *a.begin < *b.begin; });
  for (size_t i = inFlight; i < inOrder.size(); ++i)
    if (inOrder[i - inFlight].end < *inOrder[i].begin)
      steps[*inOrder[i].begin].after.push_back(steps[inOrder[i - inFlight].end].payload);
}

} // namespace cleave::plan

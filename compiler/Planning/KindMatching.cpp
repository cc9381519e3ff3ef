// verifyKinds(): collectives of different kinds of ranks meet, and nobody waits for himself.
#include "compiler/Planning/PlanText.h"
#include "compiler/Planning/PlanVerifier.h"
#include "runtime/plan/Kinds.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanReader.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace cleave::plan {

using namespace rt;

namespace {

// The axes that a group of ranks lies along; all kinds number them alike.
using GroupAxes = std::vector<uint32_t>;

// An instruction that a kind runs; calls are replaced by what they run.
struct Step {
  size_t kind;
  InstructionRef ref;
  uint64_t repeats; // how often the calls around it run it, of which kMaxTimes are in the graph
};

// The wait-for graph of one entry program over all kinds. An edge a -> b says that b starts after a; collectives that
// meet are one node, since under rendezvous none ends before all have begun.
class WaitGraph {
public:
  WaitGraph(const std::vector<const fb::Plan *> &kinds, std::vector<Finding> *findings)
      : kinds_(kinds), findings_(findings), met_(kinds.size()) {}

  void add(size_t kind, uint32_t program) {
    Last last;
    last.ofStream.assign(kinds_[kind]->streams()->size(), -1);
    expand(kind, program, 1, last);
  }
  void check() {
    if (tooLong_)
      return;
    matchCollectives();
    findCycle();
  }

private:
  static constexpr size_t kMaxSteps = 1u << 22;
  static constexpr int64_t kMaxTimes = 3; // calls repeat the same sequence, which meets itself in the next

  // The last step of every stream, of all streams that may share a progress thread, and the last collective.
  struct Last {
    std::vector<int64_t> ofStream;
    int64_t beside = -1, collective = -1;
  };
  void expand(size_t kind, uint32_t program, uint64_t repeats, Last &last);
  void edge(int64_t from, size_t to) {
    if (from >= 0)
      edges_.push_back({static_cast<size_t>(from), to});
  }
  GroupAxes axesOf(size_t kind, const InstructionView &view) const {
    const auto *axes = kinds_[kind]->groups()->Get(static_cast<unsigned>(view["group"]))->axes();
    return axes ? GroupAxes(axes->begin(), axes->end()) : GroupAxes();
  }
  // Whether ranks of both kinds are in one group over these axes.
  bool meet(size_t a, size_t b, const GroupAxes &group) const;
  std::string text(size_t step) const {
    const fb::Plan &kind = *kinds_[steps_[step].kind];
    return (textOf(kind.kind()).empty() ? "" : std::string(textOf(kind.kind())) + ": ") +
           describe(kind, steps_[step].ref);
  }
  void matchCollectives();
  void matchKinds(size_t a, size_t b);
  void matchSequence(const GroupAxes &axes, const std::vector<size_t> &expected, const std::vector<size_t> &got);
  void findCycle();
  size_t root(size_t step) {
    while (merged_[step] != step)
      step = merged_[step] = merged_[merged_[step]];
    return step;
  }

  const std::vector<const fb::Plan *> &kinds_;
  std::vector<Finding> *findings_;
  std::vector<Step> steps_;
  std::vector<std::pair<size_t, size_t>> edges_;
  std::vector<std::map<GroupAxes, std::vector<size_t>>> met_; // [kind][group] -> collectives in order
  std::vector<size_t> merged_;
  bool tooLong_ = false;
};

// Collectives of different streams have communicators of their own, but ranks issue them in list order, and a device
// may run all streams but the first on one thread: that order must be one over all kinds, so it is part of the graph.
void WaitGraph::expand(size_t kind, uint32_t program, uint64_t repeats, Last &last) {
  const auto *instructions = kinds_[kind]->programs()->Get(program)->instructions();
  std::map<int64_t, size_t> recorded;
  std::vector<std::pair<int64_t, size_t>> waits;
  for (uint32_t i = 0; i < lengthOf(instructions) && !tooLong_; ++i) {
    if (steps_.size() == kMaxSteps) {
      tooLong_ = true;
      findings_->push_back({"too long", "the programs run more than " + std::to_string(kMaxSteps) +
                                            " instructions, calls expanded; the order of collectives is not checked"});
      return;
    }
    InstructionView view(*instructions->Get(i));
    size_t step = steps_.size();
    steps_.push_back({kind, {program, i}, repeats});
    edge(std::exchange(last.ofStream[view.stream()], static_cast<int64_t>(step)), step);
    if (view.stream() != 0)
      edge(std::exchange(last.beside, static_cast<int64_t>(step)), step);
    if (isCollective(view.opcode()))
      edge(std::exchange(last.collective, static_cast<int64_t>(step)), step);
    if (view.opcode() == Opcode::Record)
      recorded.emplace(view["event"], step);
    else if (view.opcode() == Opcode::Wait)
      waits.push_back({view["event"], step});
    else if (view.opcode() == Opcode::Call)
      for (int64_t times = std::min(view["times"], kMaxTimes); times > 0; --times)
        expand(kind, static_cast<uint32_t>(view["program"]), repeats * static_cast<uint64_t>(view["times"]), last);
    else if (isCollective(view.opcode()))
      met_[kind][axesOf(kind, view)].push_back(step);
  }
  for (auto [event, step] : waits) {
    auto record = recorded.find(event);
    if (record != recorded.end())
      edge(static_cast<int64_t>(record->second), step);
    else
      findings_->push_back({"deadlock", text(step) + " waits for an event that nothing records"});
  }
}

// Groups lie along their own axes: a rank meets those that have its coordinates on all others.
bool WaitGraph::meet(size_t a, size_t b, const GroupAxes &group) const {
  for (uint32_t axis = 0; axis < lengthOf(kinds_[a]->axes()); ++axis) {
    AxisRange left = rangeOf(*kinds_[a], axis), right = rangeOf(*kinds_[b], axis);
    bool isAlong = std::find(group.begin(), group.end(), axis) != group.end();
    if (!isAlong && (left.end <= right.begin || right.end <= left.begin))
      return false;
  }
  return true;
}

void WaitGraph::matchCollectives() {
  merged_.resize(steps_.size());
  std::iota(merged_.begin(), merged_.end(), size_t{0});
  for (size_t a = 0; a < kinds_.size(); ++a)
    for (size_t b = a + 1; b < kinds_.size(); ++b)
      matchKinds(a, b);
}

void WaitGraph::matchKinds(size_t a, size_t b) {
  std::set<GroupAxes> groups;
  for (size_t kind : {a, b})
    for (const auto &[group, steps] : met_[kind])
      groups.insert(group);
  for (const GroupAxes &group : groups)
    if (meet(a, b, group))
      matchSequence(group, met_[a][group], met_[b][group]);
}

void WaitGraph::matchSequence(const GroupAxes &axes, const std::vector<size_t> &expected,
                              const std::vector<size_t> &got) {
  std::string group = axesText(*kinds_[0], &axes);
  for (size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
    merged_[root(got[i])] = root(expected[i]);
    InstructionView a = viewOf(*kinds_[steps_[expected[i]].kind], steps_[expected[i]].ref);
    InstructionView b = viewOf(*kinds_[steps_[got[i]].kind], steps_[got[i]].ref);
    bool same = a.opcode() == b.opcode() && a.stream() == b.stream(); // streams have channels of their own
    for (const char *field : {"dtype", "reduction", "algorithm", "count", "root"})
      same = same && a[field] == b[field];
    same = same && steps_[expected[i]].repeats == steps_[got[i]].repeats;
    if (!same)
      findings_->push_back({"collective-match", text(expected[i]) + " over " + group + " is met by " + text(got[i]) +
                                                    ", which differs in opcode, type, reduction, algorithm, count, "
                                                    "root, stream or in how often it is called"});
  }
  if (expected.size() == got.size())
    return;
  const std::vector<size_t> &longer = expected.size() > got.size() ? expected : got;
  const std::vector<size_t> &shorter = expected.size() > got.size() ? got : expected;
  findings_->push_back({"collective-match",
                        text(longer[shorter.size()]) + " over " + group + " is met by nothing" +
                            (shorter.empty() ? std::string() : "; the last that is met is " + text(shorter.back()))});
}

// Kahn's algorithm; what it leaves over waits for itself.
void WaitGraph::findCycle() {
  std::vector<size_t> waiting(steps_.size(), 0);
  std::vector<std::vector<size_t>> next(steps_.size());
  for (auto [from, to] : edges_) {
    next[root(from)].push_back(root(to));
    ++waiting[root(to)];
  }
  std::vector<size_t> ready;
  for (size_t i = 0; i < steps_.size(); ++i)
    if (root(i) == i && waiting[i] == 0)
      ready.push_back(i);
  while (!ready.empty()) {
    size_t step = ready.back();
    ready.pop_back();
    for (size_t to : next[step])
      if (--waiting[to] == 0)
        ready.push_back(to);
  }
  // Follow unmet predecessors from any left-over until one repeats: that one is on a cycle.
  std::map<size_t, size_t> before;
  for (auto [from, to] : edges_)
    if (waiting[root(from)] != 0 && waiting[root(to)] != 0)
      before[root(to)] = from;
  if (before.empty())
    return;
  std::map<size_t, bool> seen;
  size_t at = before.begin()->first;
  while (!std::exchange(seen[at], true) && before.count(at))
    at = root(before[at]);
  size_t previous = before.count(at) ? before[at] : at;
  findings_->push_back({"deadlock", text(at) + " and " + text(previous) + " wait for each other"});
}

} // namespace

std::vector<Finding> verifyKinds(const std::vector<const fb::Plan *> &kinds) {
  std::vector<Finding> findings;
  if (kinds.empty())
    return findings;
  for (uint32_t i = 0; i < lengthOf(kinds[0]->programs()); ++i) {
    const fb::Program &program = *kinds[0]->programs()->Get(i);
    if (!program.entry())
      continue;
    WaitGraph graph(kinds, &findings);
    for (size_t kind = 0; kind < kinds.size(); ++kind) {
      uint32_t same = 0;
      while (same < lengthOf(kinds[kind]->programs()) &&
             textOf(kinds[kind]->programs()->Get(same)->name()) != textOf(program.name()))
        ++same;
      if (same < lengthOf(kinds[kind]->programs()))
        graph.add(kind, same);
      else
        findings.push_back(
            {"collective-match", "kind " + std::to_string(kind) + " has no program " + program.name()->str()});
    }
    graph.check();
  }
  return findings;
}

} // namespace cleave::plan

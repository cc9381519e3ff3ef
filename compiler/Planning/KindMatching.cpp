// verifyKinds(): collectives of different kinds of ranks meet, sends meet receives, and nobody waits for himself.
#include "compiler/Planning/PlanFacts.h"
#include "compiler/Planning/PlanMeaning.h"
#include "compiler/Planning/PlanVerifier.h"
#include "runtime/plan/Kinds.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanReader.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace cleave::plan {

using namespace rt;

namespace {

// What is sent by one formula and in one order: from each rank to the one `offset` further on along an axis.
struct Lane {
  uint32_t axis;
  uint64_t offset; // not negative
  int64_t channel;
  bool operator<(const Lane &other) const {
    return std::tie(axis, offset, channel) < std::tie(other.axis, other.offset, other.channel);
  }
};

// An instruction that a kind runs and that waits for others, or is waited for; calls are replaced by what they run.
struct Step {
  size_t kind;
  InstructionRef ref;
  uint64_t repeats; // how often the calls around it run it, of which maxTimes_ are in the graph
};

// The wait-for graph of one entry program over all kinds. An edge a -> b says that b starts after a; collectives that
// meet are one node, since under rendezvous none ends before all have begun, and so are a send and its receive.
//
// Where nothing is sent, all kinds call the same bodies equally often, and a few runs of each stand for all. With sends
// the lists of calls differ from kind to kind (the first stage of a pipeline runs ahead), so that every run is in the
// graph.
class WaitGraph {
public:
  WaitGraph(const std::vector<const fb::Plan *> &kinds, std::vector<Finding> *findings)
      : kinds_(kinds), findings_(findings), met_(kinds.size()), sent_(kinds.size()), taken_(kinds.size()) {
    for (const fb::Plan *kind : kinds)
      if (sends(*kind))
        maxTimes_ = kAllTimes;
  }

  void add(size_t kind, uint32_t program) {
    Last last;
    last.ofStream.assign(kinds_[kind]->streams()->size(), -1);
    expand(kind, program, 1, {}, last);
  }
  void check() {
    if (tooLong_)
      return;
    merged_.resize(steps_.size());
    std::iota(merged_.begin(), merged_.end(), size_t{0});
    matchCollectives();
    matchTransfers();
    findCycle();
  }

private:
  static constexpr size_t kMaxSteps = 1u << 22;

  // The last step of every stream, of all streams that may share a progress thread, and the last collective or
  // transfer; the last record of each place of the plan's events.
  struct Last {
    std::vector<int64_t> ofStream;
    int64_t beside = -1, meeting = -1;
    std::map<std::pair<int64_t, uint64_t>, size_t> recorded;
  };
  bool runsAll() const { return maxTimes_ == kAllTimes; }
  static bool sends(const fb::Plan &kind);
  bool visit();
  const std::vector<uint32_t> &waitingIn(size_t kind, uint32_t program);
  void expand(size_t kind, uint32_t program, uint64_t repeats, const Frames &frames, Last &last);
  void addStep(size_t kind, InstructionRef ref, uint64_t repeats, Last &last);
  void addShared(const InstructionView &view, size_t kind, int64_t event, const Frames &frames, Last &last);
  void addTransfer(const InstructionView &view, size_t kind);
  void addCollective(AxesFacts group, size_t kind);
  void edge(int64_t from, size_t to) {
    if (from >= 0)
      edges_.push_back({static_cast<size_t>(from), to});
  }
  AxesFacts groupOf(size_t kind, const InstructionView &view) const {
    return groupFacts(*kinds_[kind], *kinds_[kind]->groups()->Get(static_cast<unsigned>(view["group"])));
  }
  std::string text(size_t step) const {
    const fb::Plan &kind = *kinds_[steps_[step].kind];
    return (textOf(kind.kind()).empty() ? "" : std::string(textOf(kind.kind())) + ": ") +
           describe(kind, steps_[step].ref);
  }
  void matchCollectives();
  void matchTransfers();
  void matchKinds(size_t a, size_t b);
  void matchSequence(const std::string &over, const std::vector<size_t> &expected, const std::vector<size_t> &got);
  std::string differenceOf(size_t a, size_t b) const;
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
  struct Met {
    AxesFacts group;
    std::vector<size_t> steps;
  };
  std::vector<std::map<std::string, Met>> met_;                   // [kind][text of a group] -> collectives in order
  std::vector<std::map<Lane, std::vector<size_t>>> sent_, taken_; // [kind][lane] -> sends and receives in order
  std::vector<size_t> merged_;
  std::map<std::pair<size_t, uint32_t>, std::vector<uint32_t>> waiting_; // by kind and program
  int64_t maxTimes_ = 3; // calls repeat the same sequence, which meets itself in the next
  uint64_t visited_ = 0;
  bool tooLong_ = false;
};

bool WaitGraph::sends(const fb::Plan &kind) {
  for (uint32_t p = 0; p < lengthOf(kind.programs()); ++p)
    for (uint32_t i = 0; i < lengthOf(kind.programs()->Get(p)->instructions()); ++i)
      if (isTransfer(viewOf(kind, {p, i}).opcode()))
        return true;
  return false;
}

// Collectives of different streams have communicators of their own, but ranks issue them in list order, and a device
// may run all streams but the first on one thread: that order must be one over all kinds, so it is part of the graph.
void WaitGraph::addStep(size_t kind, InstructionRef ref, uint64_t repeats, Last &last) {
  InstructionView view = viewOf(*kinds_[kind], ref);
  size_t step = steps_.size();
  steps_.push_back({kind, ref, repeats});
  edge(std::exchange(last.ofStream[view.stream()], static_cast<int64_t>(step)), step);
  if (view.stream() != 0)
    edge(std::exchange(last.beside, static_cast<int64_t>(step)), step);
  if (isCollective(view.opcode()) || isTransfer(view.opcode()))
    edge(std::exchange(last.meeting, static_cast<int64_t>(step)), step);
}

// False when too much has been looked at, calls of empty bodies counted.
bool WaitGraph::visit() {
  if (!tooLong_ && ++visited_ > kMaxSteps) {
    tooLong_ = true;
    findings_->push_back({"too long", "the programs run more than " + std::to_string(kMaxSteps) +
                                          " instructions, calls expanded; the order of collectives is not checked"});
  }
  return !tooLong_;
}

// The instructions of a program that wait for others, or that others wait for, and its calls: the graph is of these.
const std::vector<uint32_t> &WaitGraph::waitingIn(size_t kind, uint32_t program) {
  auto [known, isNew] = waiting_.try_emplace({kind, program});
  const auto *instructions = kinds_[kind]->programs()->Get(program)->instructions();
  for (uint32_t i = 0; isNew && i < lengthOf(instructions); ++i) {
    Opcode opcode = InstructionView(*instructions->Get(i)).opcode();
    if (opcode == Opcode::Call || opcode == Opcode::Record || opcode == Opcode::Wait || isCollective(opcode) ||
        isTransfer(opcode))
      known->second.push_back(i);
  }
  return known->second;
}

void WaitGraph::expand(size_t kind, uint32_t program, uint64_t repeats, const Frames &frames, Last &last) {
  const fb::Program &body = *kinds_[kind]->programs()->Get(program);
  std::map<int64_t, size_t> recorded;
  std::vector<std::pair<int64_t, size_t>> waits;
  for (uint32_t i : waitingIn(kind, program)) {
    if (!visit())
      break;
    InstructionView view(*body.instructions()->Get(i));
    if (view.opcode() == Opcode::Call) {
      for (int64_t n = 0; n < std::min(view["times"], maxTimes_) && visit(); ++n)
        expand(kind, static_cast<uint32_t>(view["program"]),
               runsAll() ? repeats : repeats * static_cast<uint64_t>(view["times"]),
               frames.called(static_cast<fb::Counter>(view["counter"]), frameOfCall(view, n)), last);
      continue;
    }
    bool isEvent = view.opcode() == Opcode::Record || view.opcode() == Opcode::Wait;
    addStep(kind, {program, i}, repeats, last);
    size_t step = steps_.size() - 1;
    if (isEvent && view["event"] >= int64_t{body.events()})
      addShared(view, kind, view["event"] - int64_t{body.events()}, frames, last);
    else if (view.opcode() == Opcode::Record)
      recorded.emplace(view["event"], step);
    else if (view.opcode() == Opcode::Wait)
      waits.push_back({view["event"], step});
    else if (isTransfer(view.opcode()))
      addTransfer(view, kind);
    else
      addCollective(groupOf(kind, view), kind);
  }
  for (auto [event, step] : waits) {
    auto record = recorded.find(event);
    if (record != recorded.end())
      edge(static_cast<int64_t>(record->second), step);
    else
      findings_->push_back({"deadlock", text(step) + " waits for an event that nothing records"});
  }
}

// A wait for a shared event is for the last record of its place; without one it holds nothing.
void WaitGraph::addShared(const InstructionView &view, size_t kind, int64_t event, const Frames &frames, Last &last) {
  const fb::Event &info = *kinds_[kind]->events()->Get(static_cast<uint32_t>(event));
  std::pair<int64_t, uint64_t> place{event, frames.place(info.counter(), view["frame"], info.frames())};
  if (view.opcode() == Opcode::Record)
    last.recorded[place] = steps_.size() - 1;
  else if (auto record = last.recorded.find(place); record != last.recorded.end())
    edge(static_cast<int64_t>(record->second), steps_.size() - 1);
}

void WaitGraph::addCollective(AxesFacts group, size_t kind) {
  Met &met = met_[kind][group.text];
  met.group = std::move(group);
  met.steps.push_back(steps_.size() - 1);
}

void WaitGraph::addTransfer(const InstructionView &view, size_t kind) {
  bool isSend = view.opcode() == Opcode::Send;
  auto axis = static_cast<uint32_t>(view["axis"]);
  int64_t size = kinds_[kind]->axes()->Get(axis)->size(), toReceiver = isSend ? view["offset"] : -view["offset"];
  Lane lane{axis, static_cast<uint64_t>((toReceiver + size) % size), view["channel"]};
  std::vector<size_t> &list = (isSend ? sent_ : taken_)[kind][lane];
  if (!list.empty() && viewOf(*kinds_[kind], steps_[list.back()].ref).stream() != view.stream())
    findings_->push_back({"transfer", text(list.back()) + " and " + text(steps_.size() - 1) +
                                          " are on one channel and on two streams, so that either may come first; "
                                          "expected one stream, or two channels"});
  list.push_back(steps_.size() - 1);
}

void WaitGraph::matchCollectives() {
  for (size_t a = 0; a < kinds_.size(); ++a)
    for (size_t b = a + 1; b < kinds_.size(); ++b)
      matchKinds(a, b);
}

void WaitGraph::matchKinds(size_t a, size_t b) {
  std::map<std::string, AxesFacts> groups;
  for (size_t kind : {a, b})
    for (const auto &[name, met] : met_[kind])
      groups.emplace(name, met.group);
  for (const auto &[name, group] : groups)
    if (boxOf(*kinds_[a]).meets(boxOf(*kinds_[b]), group))
      matchSequence(group.names, met_[a][name].steps, met_[b][name].steps);
}

// What ranks of a kind send, ranks of every kind that lies there receive; a kind may send to itself.
void WaitGraph::matchTransfers() {
  std::set<Lane> lanes;
  std::vector<KindBox> boxes;
  for (size_t kind = 0; kind < kinds_.size(); ++kind) {
    boxes.push_back(boxOf(*kinds_[kind]));
    for (const auto *ofKind : {&sent_[kind], &taken_[kind]})
      for (const auto &[lane, steps] : *ofKind)
        lanes.insert(lane);
  }
  for (const Lane &lane : lanes) {
    const fb::Axis &axis = *kinds_[0]->axes()->Get(lane.axis);
    for (size_t a = 0; a < kinds_.size(); ++a)
      for (size_t b = 0; b < kinds_.size(); ++b)
        if (boxes[a].reaches(boxes[b], AxisMask{1} << lane.axis, lane.offset, axis.size()))
          matchSequence(std::string(textOf(axis.name())) + " by " + std::to_string(lane.offset), sent_[a][lane],
                        taken_[b][lane]);
  }
}

// What keeps two instructions from being one; empty where they are. A send and a receive may be on any stream.
std::string WaitGraph::differenceOf(size_t first, size_t second) const {
  InstructionView a = viewOf(*kinds_[steps_[first].kind], steps_[first].ref);
  InstructionView b = viewOf(*kinds_[steps_[second].kind], steps_[second].ref);
  auto both = [](const char *what, uint64_t left, uint64_t right) {
    return std::string(what) + ": " + std::to_string(left) + " and " + std::to_string(right);
  };
  if (!isTransfer(a.opcode()) && a.opcode() != b.opcode())
    return "what it does";
  if (!isTransfer(a.opcode()) && a.stream() != b.stream())
    return both("stream", a.stream(), b.stream());
  for (const char *field : {"dtype", "reduction", "algorithm", "count", "root"})
    if (a[field] != b[field])
      return both(field, static_cast<uint64_t>(a[field]), static_cast<uint64_t>(b[field]));
  return steps_[first].repeats == steps_[second].repeats
             ? ""
             : both("how often it is called", steps_[first].repeats, steps_[second].repeats);
}

void WaitGraph::matchSequence(const std::string &over, const std::vector<size_t> &expected,
                              const std::vector<size_t> &got) {
  if (expected.empty() && got.empty())
    return;
  const Step &any = steps_[expected.empty() ? got[0] : expected[0]];
  const char *rule = isTransfer(viewOf(*kinds_[any.kind], any.ref).opcode()) ? "transfer" : "collective-match";
  for (size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
    merged_[root(got[i])] = root(expected[i]);
    if (std::string difference = differenceOf(expected[i], got[i]); !difference.empty())
      findings_->push_back({rule, text(expected[i]) + " over " + over + " is met by " + text(got[i]) +
                                      ", which differs in " + difference});
  }
  if (expected.size() == got.size())
    return;
  const std::vector<size_t> &longer = expected.size() > got.size() ? expected : got;
  const std::vector<size_t> &shorter = expected.size() > got.size() ? got : expected;
  findings_->push_back(
      {rule, text(longer[shorter.size()]) + " over " + over + " is met by nothing" +
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

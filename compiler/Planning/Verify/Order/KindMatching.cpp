// verifyKinds(): checks that collectives of different kinds of ranks meet, that sends meet receives, and that no rank
// waits for itself.
#include "compiler/Planning/Verify/Facts/PlanFacts.h"
#include "compiler/Planning/Verify/Order/EntryGraph.h"
#include "compiler/Planning/Verify/PlanVerifier.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace cleave::plan {

using namespace rt;

namespace {

// Only these instructions wait for others, or are waited for.
bool isWaiting(Opcode opcode) {
  return opcode == Opcode::Record || opcode == Opcode::Wait || isCollective(opcode) || isTransfer(opcode);
}

// The wait-for graph of one entry program over all kinds. An edge a -> b says that b starts after a. Collectives that
// meet are one node, because under rendezvous none of them ends before all have begun. The same holds for a send and
// its receive.
//
// If nothing is sent, all kinds call the same bodies equally often, and a few runs of each call stand for all. Two kinds
// must meet in the same runs of equally long calls (EntryGraph::Run), so the runs that are left out meet, too. With
// sends, the lists of calls differ from kind to kind (the first stage of a pipeline runs ahead), so every run is in the
// graph.
class WaitGraph {
public:
  WaitGraph(const EntryGraph &graph, std::vector<Finding> *findings)
      : graph_(graph), kinds_(graph.kinds()), findings_(findings), edges_(graph.edges()), met_(graph.kinds().size()) {}

  void check() {
    for (EntryGraph::LostWait wait : graph_.lostWaits())
      findings_->push_back({"deadlock", text(wait) + " waits for an event that nothing records"});
    addOrderOfIssue();
    addCollectives();
    checkChannels();
    merged_.resize(graph_.nodes().size());
    std::iota(merged_.begin(), merged_.end(), size_t{0});
    matchCollectives();
    graph_.forEachMeeting(
        [&](const TransferChannel &channel, const std::vector<size_t> &sent, const std::vector<size_t> &taken) {
          const fb::Axis &axis = *kinds_[0]->axes()->Get(channel.axisIndex());
          matchSequence(std::string(textOf(axis.name())) + " by " + std::to_string(channel.offset), sent, taken);
        });
    findCycle();
  }

private:
  // Collectives over one group, in order.
  struct Met {
    const AxesFacts *group;
    std::vector<size_t> nodes;
  };
  void addOrderOfIssue();
  void addCollectives();
  void checkChannels();
  void matchCollectives();
  void matchKinds(size_t a, size_t b);
  void matchSequence(const std::string &over, const std::vector<size_t> &expected, const std::vector<size_t> &got);
  std::string differenceOf(size_t a, size_t b) const;
  void findCycle();
  std::string text(size_t node) const {
    const fb::Plan &kind = *kinds_[graph_.kindOf(node)];
    return (textOf(kind.kind()).empty() ? "" : std::string(textOf(kind.kind())) + ": ") +
           describe(kind, graph_.nodes()[node].ref);
  }
  size_t root(size_t node) {
    while (merged_[node] != node)
      node = merged_[node] = merged_[merged_[node]];
    return node;
  }

  const EntryGraph &graph_;
  const std::vector<const fb::Plan *> &kinds_;
  std::vector<Finding> *findings_;
  std::vector<std::pair<size_t, size_t>> edges_;
  std::vector<std::vector<AxesFacts>> groups_;  // [kind][group of the plan]
  std::vector<std::map<std::string, Met>> met_; // [kind][text of a group]
  std::vector<size_t> merged_;
};

// Collectives of different streams have communicators of their own. But ranks issue them in list order, and a device
// may run all streams except the first on one thread. So this order must be the same on all kinds, and is part of the
// graph.
void WaitGraph::addOrderOfIssue() {
  struct Last {
    int64_t beside = -1, meeting = -1; // nodes; -1: none yet
  };
  std::vector<Last> lasts(kinds_.size());
  auto follow = [&](int64_t &last, size_t node) {
    if (last >= 0)
      edges_.push_back({static_cast<size_t>(last), node});
    last = static_cast<int64_t>(node);
  };
  for (size_t node = 0; node < graph_.nodes().size(); ++node) {
    InstructionView view = graph_.viewOf(node);
    Last &last = lasts[graph_.kindOf(node)];
    if (view.stream() != 0)
      follow(last.beside, node);
    if (isCollective(view.opcode()) || isTransfer(view.opcode()))
      follow(last.meeting, node);
  }
}

void WaitGraph::addCollectives() {
  for (const fb::Plan *kind : kinds_) {
    std::vector<AxesFacts> &groups = groups_.emplace_back();
    for (uint32_t i = 0; i < lengthOf(kind->groups()); ++i)
      groups.push_back(groupFacts(*kind, *kind->groups()->Get(i)));
  }
  for (size_t node = 0; node < graph_.nodes().size(); ++node) {
    InstructionView view = graph_.viewOf(node);
    if (!isCollective(view.opcode()))
      continue;
    size_t kind = graph_.kindOf(node);
    const AxesFacts &group = groups_[kind][static_cast<size_t>(view["group"])];
    met_[kind].try_emplace(group.text, Met{&group, {}}).first->second.nodes.push_back(node);
  }
}

void WaitGraph::checkChannels() {
  for (size_t kind = 0; kind < kinds_.size(); ++kind)
    for (const auto *ofKind : {&graph_.sentBy(kind), &graph_.takenBy(kind)})
      for (const auto &[lane, nodes] : *ofKind)
        for (size_t i = 1; i < nodes.size(); ++i)
          if (graph_.viewOf(nodes[i - 1]).stream() != graph_.viewOf(nodes[i]).stream())
            findings_->push_back({"transfer", text(nodes[i - 1]) + " and " + text(nodes[i]) +
                                                  " are on one channel and on two streams, so that either may come "
                                                  "first; expected one stream, or two channels"});
}

void WaitGraph::matchCollectives() {
  for (size_t a = 0; a < kinds_.size(); ++a)
    for (size_t b = a + 1; b < kinds_.size(); ++b)
      matchKinds(a, b);
}

void WaitGraph::matchKinds(size_t a, size_t b) {
  std::map<std::string, const AxesFacts *> groups;
  for (size_t kind : {a, b})
    for (const auto &[name, met] : met_[kind])
      groups.emplace(name, met.group);
  auto stepsOver = [&](size_t kind, const std::string &name) {
    auto found = met_[kind].find(name);
    return found == met_[kind].end() ? std::vector<size_t>() : found->second.nodes;
  };
  for (const auto &[name, group] : groups)
    if (boxOf(*kinds_[a]).meets(boxOf(*kinds_[b]), *group))
      matchSequence(group->names, stepsOver(a, name), stepsOver(b, name));
}

// Returns the difference that keeps two instructions from meeting; empty if there is none. A send and its receive may
// be on any stream.
std::string WaitGraph::differenceOf(size_t first, size_t second) const {
  InstructionView a = graph_.viewOf(first), b = graph_.viewOf(second);
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
  if (graph_.nodes()[first].run == graph_.nodes()[second].run)
    return "";
  uint64_t left = graph_.timesOf(first), right = graph_.timesOf(second);
  return left == right ? "the calls that repeat it" : both("how often it is called", left, right);
}

void WaitGraph::matchSequence(const std::string &over, const std::vector<size_t> &expected,
                              const std::vector<size_t> &got) {
  if (expected.empty() && got.empty())
    return;
  InstructionView any = graph_.viewOf(expected.empty() ? got[0] : expected[0]);
  const char *rule = isTransfer(any.opcode()) ? "transfer" : "collective-match";
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

// Kahn's algorithm. The nodes that it does not reach are on a cycle, or after one.
void WaitGraph::findCycle() {
  std::vector<size_t> waiting(merged_.size(), 0);
  std::vector<std::vector<size_t>> next(merged_.size());
  for (auto [from, to] : edges_) {
    next[root(from)].push_back(root(to));
    ++waiting[root(to)];
  }
  std::vector<size_t> ready;
  for (size_t i = 0; i < merged_.size(); ++i)
    if (root(i) == i && waiting[i] == 0)
      ready.push_back(i);
  while (!ready.empty()) {
    size_t node = ready.back();
    ready.pop_back();
    for (size_t to : next[node])
      if (--waiting[to] == 0)
        ready.push_back(to);
  }
  // Follow unreached predecessors from any such node until one repeats: that one is on a cycle.
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

static std::vector<Finding> verifyEntry(const std::vector<const fb::Plan *> &kinds, std::string_view entry,
                                        int64_t maxTimes) {
  std::vector<Finding> findings;
  EntryGraph graph(kinds, isWaiting, maxTimes);
  bool isWhole = true;
  for (size_t kind = 0; kind < kinds.size() && isWhole; ++kind) {
    if (std::optional<uint32_t> same = programOf(*kinds[kind], entry))
      isWhole = graph.add(kind, *same);
    else
      findings.push_back(
          {"collective-match", "kind " + std::to_string(kind) + " has no program " + std::string(entry)});
  }
  if (isWhole)
    WaitGraph(graph, &findings).check();
  else
    findings.push_back({"too long", textOfTooLong(entry)});
  return findings;
}

std::vector<Finding> verifyKinds(const std::vector<const fb::Plan *> &kinds) {
  std::vector<Finding> findings;
  if (kinds.empty())
    return findings;
  bool sends = std::any_of(kinds.begin(), kinds.end(), [](const fb::Plan *kind) { return hasTransfers(*kind); });
  for (uint32_t i = 0; i < lengthOf(kinds[0]->programs()); ++i) {
    const fb::Program &program = *kinds[0]->programs()->Get(i);
    if (!program.entry())
      continue;
    int64_t maxTimes = sends ? kAllTimes : kMaxInterpretedTimes;
    std::vector<Finding> found = verifyEntry(kinds, textOf(program.name()), maxTimes);
    findings.insert(findings.end(), found.begin(), found.end());
  }
  return findings;
}

} // namespace cleave::plan

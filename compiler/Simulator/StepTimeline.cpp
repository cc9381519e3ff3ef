#include "compiler/Simulator/StepTimeline.h"

#include "compiler/Planning/Verify/Order/EntryGraph.h"
#include "compiler/Simulator/InstructionCosts.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>
#include <memory>

namespace cleave::plan {

using namespace rt;

InstructionCost plainCosts(const fb::Plan &plan) {
  auto costs = std::make_shared<InstructionCosts>(plan, plainMachine());
  return [costs](const fb::Plan &kind, uint32_t, const InstructionView &view) { return costs->seconds(kind, view); };
}

double StepTimeline::idleShare() const {
  double busy = 0;
  for (const KindTimeline &kind : kinds)
    busy += kind.busy;
  return duration == 0 ? 0 : 1 - busy / (duration * static_cast<double>(kinds.size()));
}

namespace {

// Runs a graph with given costs. A node begins when all nodes before it have ended, and a send begins with its receive.
//
// `start` of a node is the latest end of those nodes before it that have been finished. It is final when `waiting` is 0.
// So the order in which ready nodes are taken changes no time, and no queue by time is needed. For example, stage 0
// computes for 2 and sends for 1, and stage 1 receives for 1 and computes for 2:
//
//   0F   start 0, end 2        ready at once
//   send start 2, end 3        ready together with the receive, which has been free since 0
//   recv start 2, end 3
//   1F   start 3, end 5
class Simulation {
public:
  Simulation(const EntryGraph &graph, const InstructionCost &cost, TimelineDetail detail)
      : graph_(graph), detail_(detail), nodes_(graph.nodes().size()) {
    for (size_t i = 0; i < nodes_.size(); ++i)
      nodes_[i].cost = cost(*graph.kinds()[graph.kindOf(i)], graph.nodes()[i].ref.program, graph.viewOf(i));
    for (auto [from, to] : graph.edges())
      addEdge(from, to);
    if (isForGpus(*graph.kinds().front()))
      orderCommunication();
    graph.forEachMeeting(
        [&](const TransferChannel &, const std::vector<size_t> &sent, const std::vector<size_t> &taken) {
          for (size_t i = 0; i < std::min(sent.size(), taken.size()); ++i) {
            nodes_[sent[i]].partner = static_cast<int64_t>(taken[i]);
            nodes_[taken[i]].partner = static_cast<int64_t>(sent[i]);
          }
        });
  }

  // Empty if nodes wait for each other.
  std::optional<StepTimeline> run() {
    std::vector<size_t> ready;
    size_t done = 0;
    for (size_t node = 0; node < nodes_.size(); ++node)
      if (isReady(node))
        ready.push_back(node);
    while (!ready.empty()) {
      size_t node = ready.back();
      ready.pop_back();
      int64_t partner = nodes_[node].partner;
      if (partner >= 0) { // ready only if both ends are
        Node &other = nodes_[static_cast<size_t>(partner)];
        nodes_[node].start = other.start = std::max(nodes_[node].start, other.start);
        finish(static_cast<size_t>(partner), ready), ++done;
      }
      finish(node, ready), ++done;
    }
    return done == nodes_.size() ? std::optional(result()) : std::nullopt;
  }

private:
  struct Node {
    double cost = 0, start = 0, end = 0;
    int64_t partner = -1; // the other end of a transfer
    std::vector<size_t> next;
    unsigned waiting = 0; // number of nodes that it still waits for
  };

  void addEdge(size_t from, size_t to) {
    nodes_[from].next.push_back(to);
    ++nodes_[to].waiting;
  }

  // A GPU runs all communication of its rank in issue order, on whatever streams it is (NcclWorld.h).
  void orderCommunication() {
    std::vector<std::optional<size_t>> last(graph_.kinds().size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      Opcode opcode = graph_.viewOf(i).opcode();
      if (!isCollective(opcode) && !isTransfer(opcode))
        continue;
      std::optional<size_t> &before = last[graph_.kindOf(i)];
      if (before)
        addEdge(*before, i);
      before = i;
    }
  }

  bool isReady(size_t node) const {
    int64_t partner = nodes_[node].partner;
    return nodes_[node].waiting == 0 &&
           (partner < 0 || (nodes_[static_cast<size_t>(partner)].waiting == 0 && node < static_cast<size_t>(partner)));
  }

  void finish(size_t at, std::vector<size_t> &ready) {
    Node &node = nodes_[at];
    node.end = node.start + node.cost;
    for (size_t next : node.next) {
      nodes_[next].start = std::max(nodes_[next].start, node.end);
      if (--nodes_[next].waiting != 0)
        continue;
      auto partner = static_cast<size_t>(nodes_[next].partner);
      if (isReady(next))
        ready.push_back(next);
      else if (nodes_[next].partner >= 0 && isReady(partner))
        ready.push_back(partner);
    }
  }

  // A body's span covers its own instructions on the first stream that have a cost.
  StepTimeline result() const {
    std::vector<BodySpan> spans(graph_.calls().size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Node &node = nodes_[i];
      if (node.cost <= 0 || graph_.viewOf(i).stream() != 0)
        continue;
      BodySpan &span = spans[graph_.nodes()[i].call];
      span.start = span.busy == 0 ? node.start : std::min(span.start, node.start);
      span.end = std::max(span.end, node.end);
      span.busy += node.cost;
    }
    StepTimeline timeline;
    for (const fb::Plan *kind : graph_.kinds())
      timeline.kinds.push_back({std::string(textOf(kind->kind())), {}, 0, {}});
    if (detail_ == TimelineDetail::Streams)
      addStreams(timeline);
    for (size_t i = 0; i < spans.size(); ++i) {
      if (spans[i].busy == 0)
        continue;
      const EntryGraph::Call &call = graph_.calls()[i];
      KindTimeline &kind = timeline.kinds[call.kind];
      spans[i].program = textOf(graph_.kinds()[call.kind]->programs()->Get(call.program)->name());
      spans[i].microBatch = call.microBatch;
      kind.busy += spans[i].busy;
      timeline.duration = std::max(timeline.duration, spans[i].end);
      kind.bodies.push_back(std::move(spans[i]));
    }
    return timeline;
  }

  void addStreams(StepTimeline &timeline) const {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Node &node = nodes_[i];
      const EntryGraph::Node &ran = graph_.nodes()[i];
      const EntryGraph::Call &call = graph_.calls()[ran.call];
      if (node.cost > 0)
        timeline.kinds[call.kind].spans.push_back(
            {graph_.viewOf(i).stream(), node.start, node.end, call.program, ran.ref.index, call.microBatch, ""});
    }
  }

  const EntryGraph &graph_;
  TimelineDetail detail_;
  std::vector<Node> nodes_;
};

} // namespace

std::string taskOf(const BodySpan &span) {
  const std::string &name = span.program;
  size_t dot = name.find('.');
  if (name.empty() || name[0] != 'c' || dot == std::string::npos)
    return "U";
  std::string half = name.substr(dot + 1), chunk = name.substr(1, dot - 1);
  const char *letter = half.rfind("fwd", 0) == 0      ? "F"
                       : half.rfind("gather", 0) == 0 ? "G"
                       : half.rfind("bwd_x", 0) == 0  ? "I"
                       : half.rfind("bwd_w", 0) == 0  ? "W"
                                                      : "B";
  return chunk + letter;
}

// For example "0F3" for "c0.fwd" with micro-batch 3.
static std::string labelOf(const BodySpan &span) {
  std::string task = taskOf(span);
  return task == "U" ? task : task + std::to_string(span.microBatch);
}

std::optional<StepTimeline> timelineOf(const fb::Plan &plan, const std::string &entry, const InstructionCost &cost,
                                       TimelineDetail detail) {
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  EntryGraph graph(kinds, [](Opcode) { return true; });
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    std::optional<uint32_t> program = programOf(*kinds[kind], entry);
    if (!program || !graph.add(kind, *program))
      return std::nullopt;
  }
  return Simulation(graph, cost, detail).run();
}

std::string drawTimeline(const StepTimeline &timeline, size_t columns) {
  std::string text;
  size_t width = 0;
  for (const KindTimeline &kind : timeline.kinds)
    width = std::max(width, kind.kind.size());
  for (const KindTimeline &kind : timeline.kinds) {
    std::string line(columns, '.');
    for (const BodySpan &span : kind.bodies) {
      auto columnOf = [&](double time) {
        return std::min(columns, static_cast<size_t>(time / timeline.duration * static_cast<double>(columns) + 0.5));
      };
      std::string label = labelOf(span);
      size_t from = columnOf(span.start), to = columnOf(span.end);
      for (size_t at = from; at < to; ++at)
        line[at] = at - from < label.size() && label.size() < to - from ? label[at - from]
                   : at + 1 == to                                       ? '|'
                   : label.size() < to - from                           ? '-'
                                                                        : label[label.find_first_not_of("0123456789")];
    }
    text += "  " + kind.kind + std::string(width - kind.kind.size(), ' ') + " " + line + "\n";
  }
  return text;
}

} // namespace cleave::plan

#include "compiler/Simulator/StepTimeline.h"

#include "compiler/Planning/Verify/StepGraph.h"
#include "compiler/Simulator/InstructionCosts.h"
#include "runtime/plan/Kinds.h"

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

// Runs a graph on given costs: each step begins when all before it have ended, and a send with its receive.
class Simulation {
public:
  Simulation(const StepGraph &graph, const InstructionCost &cost, TimelineDetail detail)
      : graph_(graph), detail_(detail), steps_(graph.steps().size()) {
    for (size_t i = 0; i < steps_.size(); ++i)
      steps_[i].cost = cost(*graph.kinds()[graph.kindOf(i)], graph.steps()[i].ref.program, graph.viewOf(i));
    for (auto [from, to] : graph.edges()) {
      steps_[from].next.push_back(to);
      ++steps_[to].waiting;
    }
    graph.forEachMeeting([&](const Lane &, const std::vector<size_t> &sent, const std::vector<size_t> &taken) {
      for (size_t i = 0; i < std::min(sent.size(), taken.size()); ++i) {
        steps_[sent[i]].partner = static_cast<int64_t>(taken[i]);
        steps_[taken[i]].partner = static_cast<int64_t>(sent[i]);
      }
    });
  }

  // None where steps wait for each other.
  std::optional<StepTimeline> run() {
    std::vector<size_t> ready;
    size_t done = 0;
    for (size_t step = 0; step < steps_.size(); ++step)
      if (isReady(step))
        ready.push_back(step);
    while (!ready.empty()) {
      size_t step = ready.back();
      ready.pop_back();
      int64_t partner = steps_[step].partner;
      if (partner >= 0) { // both, or not yet
        Step &other = steps_[static_cast<size_t>(partner)];
        steps_[step].start = other.start = std::max(steps_[step].start, other.start);
        finish(static_cast<size_t>(partner), ready), ++done;
      }
      finish(step, ready), ++done;
    }
    return done == steps_.size() ? std::optional(result()) : std::nullopt;
  }

private:
  struct Step {
    double cost = 0, start = 0, end = 0;
    int64_t partner = -1; // the other end of a transfer
    std::vector<size_t> next;
    unsigned waiting = 0; // for so many
  };

  bool isReady(size_t step) const {
    int64_t partner = steps_[step].partner;
    return steps_[step].waiting == 0 &&
           (partner < 0 || (steps_[static_cast<size_t>(partner)].waiting == 0 && step < static_cast<size_t>(partner)));
  }

  void finish(size_t at, std::vector<size_t> &ready) {
    Step &step = steps_[at];
    step.end = step.start + step.cost;
    for (size_t next : step.next) {
      steps_[next].start = std::max(steps_[next].start, step.end);
      if (--steps_[next].waiting != 0)
        continue;
      auto partner = static_cast<size_t>(steps_[next].partner);
      if (isReady(next))
        ready.push_back(next);
      else if (steps_[next].partner >= 0 && isReady(partner))
        ready.push_back(partner);
    }
  }

  // A body's span is of the steps of its own that are on the first stream and cost something.
  StepTimeline result() const {
    std::vector<BodySpan> spans(graph_.calls().size());
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step &step = steps_[i];
      if (step.cost <= 0 || graph_.viewOf(i).stream() != 0)
        continue;
      BodySpan &span = spans[graph_.steps()[i].call];
      span.start = span.busy == 0 ? step.start : std::min(span.start, step.start);
      span.end = std::max(span.end, step.end);
      span.busy += step.cost;
    }
    StepTimeline timeline;
    for (const fb::Plan *kind : graph_.kinds())
      timeline.kinds.push_back({std::string(textOf(kind->kind())), {}, 0, {}});
    if (detail_ == TimelineDetail::Streams)
      addStreams(timeline);
    for (size_t i = 0; i < spans.size(); ++i) {
      if (spans[i].busy == 0)
        continue;
      const StepGraph::Call &call = graph_.calls()[i];
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
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step &step = steps_[i];
      const StepGraph::Step &ran = graph_.steps()[i];
      const StepGraph::Call &call = graph_.calls()[ran.call];
      if (step.cost > 0)
        timeline.kinds[call.kind].spans.push_back(
            {graph_.viewOf(i).stream(), step.start, step.end, call.program, ran.ref.index, call.microBatch, ""});
    }
  }

  const StepGraph &graph_;
  TimelineDetail detail_;
  std::vector<Step> steps_;
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

// "0F3" of "c0.fwd" with micro-batch 3.
static std::string labelOf(const BodySpan &span) {
  std::string task = taskOf(span);
  return task == "U" ? task : task + std::to_string(span.microBatch);
}

std::optional<StepTimeline> timelineOf(const fb::Plan &plan, const std::string &entry, const InstructionCost &cost,
                                       TimelineDetail detail) {
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  StepGraph graph(kinds, [](Opcode) { return true; });
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
                                                                        : label[label.find_first_of("FBIWU")];
    }
    text += "  " + kind.kind + std::string(width - kind.kind.size(), ' ') + " " + line + "\n";
  }
  return text;
}

} // namespace cleave::plan

#include "compiler/Planning/StepTimeline.h"
#include "compiler/Planning/PlanFacts.h"

#include "compiler/CostModel/CostModel.h"
#include "compiler/Planning/PlanMeaning.h"
#include "runtime/plan/Frames.h"
#include "runtime/plan/Kinds.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace cleave::plan {

using namespace rt;

double modelledSeconds(const fb::Plan &kind, uint32_t, const InstructionView &instruction) {
  const Machine machine;
  auto bytes = [&] { return instruction.buffer(0).bytes(); };
  if (instruction.opcode() == Opcode::Launch) {
    const fb::Kernel &kernel = *kind.kernels()->Get(static_cast<unsigned>(instruction["kernel"]));
    return kernelSeconds(kernel.flops(), kernel.bytes(), machine);
  }
  if (instruction.opcode() == Opcode::Copy || instruction.opcode() == Opcode::Fill)
    return kernelSeconds(0, bytes(), machine);
  if (isTransfer(instruction.opcode()))
    return machine.linkSeconds + static_cast<double>(bytes()) / machine.linkBytesPerSecond;
  if (!isCollective(instruction.opcode()))
    return 0;
  uint64_t ranks = groupSize(kind, *kind.groups()->Get(static_cast<unsigned>(instruction["group"])));
  bool isWhole = instruction.opcode() == Opcode::AllReduce;
  return ringSeconds(isWhole ? RingCollective::AllReduce : RingCollective::AllGather, bytes(), ranks, machine);
}

double StepTimeline::idleShare() const {
  double busy = 0;
  for (const KindTimeline &kind : kinds)
    busy += kind.busy;
  return duration == 0 ? 0 : 1 - busy / (duration * static_cast<double>(kinds.size()));
}

namespace {

class Simulation {
public:
  Simulation(const fb::Plan &plan, const InstructionCost &cost, TimelineDetail detail)
      : kinds_(kindsOf(plan)), cost_(cost), detail_(detail) {
    for (const fb::Plan *kind : kinds_)
      boxes_.push_back(boxOf(*kind));
    sent_.resize(kinds_.size());
    taken_.resize(kinds_.size());
  }

  std::optional<StepTimeline> run(const std::string &entry) {
    for (size_t kind = 0; kind < kinds_.size(); ++kind) {
      std::optional<uint32_t> program = find(*kinds_[kind], entry);
      if (!program)
        return std::nullopt;
      Last last;
      last.ofStream.assign(kinds_[kind]->streams()->size(), -1);
      expand(kind, *program, {}, last);
    }
    if (isTooLong())
      return std::nullopt;
    for (size_t kind = 0; kind < kinds_.size(); ++kind)
      meet(kind);
    return walk();
  }

private:
  static constexpr size_t kMaxSteps = 1u << 22;
  // Bodies without instructions count, too: a plan can call them any number of times.
  bool isTooLong() const { return steps_.size() + bodies_.size() >= kMaxSteps; }

  struct Step {
    double cost = 0, start = 0, end = 0;
    int64_t body = -1;    // of the first stream, a number in bodies_
    int64_t partner = -1; // the other end of a transfer
    std::vector<size_t> next;
    unsigned waiting = 0; // for so many
    uint32_t instruction = 0;
    unsigned stream = 0;
    size_t run = 0; // of its program, on whichever stream: a number in bodies_
  };
  struct Last {
    std::vector<int64_t> ofStream;
    std::map<std::pair<int64_t, uint64_t>, size_t> recorded;
  };
  using Lane = std::tuple<uint32_t, uint64_t, int64_t>; // axis, offset to the receiver, channel

  static std::optional<uint32_t> find(const fb::Plan &kind, const std::string &entry) {
    for (uint32_t i = 0; i < lengthOf(kind.programs()); ++i)
      if (textOf(kind.programs()->Get(i)->name()) == entry)
        return i;
    return std::nullopt;
  }

  void edge(int64_t from, size_t to) {
    if (from < 0)
      return;
    steps_[static_cast<size_t>(from)].next.push_back(to);
    ++steps_[to].waiting;
  }

  void expand(size_t kind, uint32_t program, const Frames &frames, Last &last) {
    const fb::Program &body = *kinds_[kind]->programs()->Get(program);
    std::map<int64_t, size_t> recorded;
    int64_t span = static_cast<int64_t>(bodies_.size());
    BodySpan begun;
    begun.program = textOf(body.name());
    programs_.push_back(program);
    begun.microBatch = frames.of(fb::Counter::micro_batch);
    bodies_.emplace_back(kind, std::move(begun));
    for (uint32_t i = 0; i < lengthOf(body.instructions()) && !isTooLong(); ++i) {
      InstructionView view(*body.instructions()->Get(i));
      if (view.opcode() == Opcode::Call) {
        for (int64_t n = 0; n < view["times"] && !isTooLong(); ++n)
          expand(kind, static_cast<uint32_t>(view["program"]),
                 frames.called(static_cast<fb::Counter>(view["counter"]), frameOfCall(view, n)), last);
        continue;
      }
      size_t step = steps_.size();
      steps_.emplace_back();
      steps_[step].cost = cost_(*kinds_[kind], program, view);
      steps_[step].body = view.stream() == 0 ? span : -1;
      steps_[step].instruction = i;
      steps_[step].stream = view.stream();
      steps_[step].run = static_cast<size_t>(span);
      edge(std::exchange(last.ofStream[view.stream()], static_cast<int64_t>(step)), step);
      if (view.opcode() == Opcode::Record || view.opcode() == Opcode::Wait)
        order(kind, body, view, frames, step, recorded, last);
      else if (isTransfer(view.opcode()))
        addTransfer(kind, view, step);
    }
  }

  void order(size_t kind, const fb::Program &body, const InstructionView &view, const Frames &frames, size_t step,
             std::map<int64_t, size_t> &recorded, Last &last) {
    int64_t event = view["event"], shared = event - int64_t{body.events()};
    bool isRecord = view.opcode() == Opcode::Record;
    if (shared < 0) {
      if (isRecord)
        recorded[event] = step;
      else if (auto record = recorded.find(event); record != recorded.end())
        edge(static_cast<int64_t>(record->second), step);
      return;
    }
    const fb::Event &info = *kinds_[kind]->events()->Get(static_cast<uint32_t>(shared));
    std::pair<int64_t, uint64_t> place{shared, frames.place(info.counter(), view["frame"], info.frames())};
    if (isRecord)
      last.recorded[place] = step;
    else if (auto record = last.recorded.find(place); record != last.recorded.end())
      edge(static_cast<int64_t>(record->second), step);
  }

  void addTransfer(size_t kind, const InstructionView &view, size_t step) {
    bool isSend = view.opcode() == Opcode::Send;
    auto axis = static_cast<uint32_t>(view["axis"]);
    int64_t size = kinds_[kind]->axes()->Get(axis)->size(), to = isSend ? view["offset"] : -view["offset"];
    Lane lane{axis, static_cast<uint64_t>((to + size) % size), view["channel"]};
    (isSend ? sent_ : taken_)[kind][lane].push_back(step);
  }

  // What the kind sends, and what those receive that it reaches.
  void meet(size_t sender) {
    for (const auto &[lane, sent] : sent_[sender]) {
      auto [axis, offset, channel] = lane;
      for (size_t receiver = 0; receiver < kinds_.size(); ++receiver) {
        if (!boxes_[sender].reaches(boxes_[receiver], AxisMask{1} << axis, offset,
                                    kinds_[sender]->axes()->Get(axis)->size()))
          continue;
        const std::vector<size_t> &taken = taken_[receiver][lane];
        for (size_t i = 0; i < std::min(sent.size(), taken.size()); ++i) {
          steps_[sent[i]].partner = static_cast<int64_t>(taken[i]);
          steps_[taken[i]].partner = static_cast<int64_t>(sent[i]);
        }
      }
    }
  }

  std::optional<StepTimeline> walk() {
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

  StepTimeline result() {
    for (const Step &step : steps_)
      if (step.body >= 0 && step.cost > 0) {
        BodySpan &span = bodies_[static_cast<size_t>(step.body)].second;
        span.start = span.busy == 0 ? step.start : std::min(span.start, step.start);
        span.end = std::max(span.end, step.end);
        span.busy += step.cost;
      }
    StepTimeline timeline;
    for (const fb::Plan *kind : kinds_)
      timeline.kinds.push_back({std::string(textOf(kind->kind())), {}, 0, {}});
    if (detail_ == TimelineDetail::Streams)
      for (const Step &step : steps_)
        if (step.cost > 0)
          timeline.kinds[bodies_[step.run].first].spans.push_back({step.stream, step.start, step.end, programs_[step.run],
                                                                   step.instruction, bodies_[step.run].second.microBatch, ""});
    for (auto &[kind, span] : bodies_)
      if (span.busy > 0) {
        timeline.kinds[kind].busy += span.busy;
        timeline.duration = std::max(timeline.duration, span.end);
        timeline.kinds[kind].bodies.push_back(std::move(span));
      }
    return timeline;
  }

  std::vector<const fb::Plan *> kinds_;
  const InstructionCost &cost_;
  std::vector<KindBox> boxes_;
  std::vector<std::map<Lane, std::vector<size_t>>> sent_, taken_;
  std::vector<Step> steps_;
  std::vector<std::pair<size_t, BodySpan>> bodies_; // with the kind
  std::vector<uint32_t> programs_;                  // of them
  TimelineDetail detail_;
};

} // namespace

std::string taskOf(const BodySpan &span) {
  const std::string &name = span.program;
  size_t dot = name.find('.');
  if (name.empty() || name[0] != 'c' || dot == std::string::npos)
    return "U";
  std::string half = name.substr(dot + 1), chunk = name.substr(1, dot - 1);
  const char *letter = half.rfind("fwd", 0) == 0     ? "F"
                       : half.rfind("gather", 0) == 0 ? "G"
                       : half.rfind("bwd_x", 0) == 0 ? "I"
                       : half.rfind("bwd_w", 0) == 0 ? "W"
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
  return Simulation(plan, cost, detail).run(entry);
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

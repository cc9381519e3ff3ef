#include "compiler/Inspect/Prediction.h"

#include "compiler/Inspect/Human.h"
#include "compiler/Simulator/Walk.h"
#include "compiler/Support/NodeNote.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/plan/Tokens.h"

#include <algorithm>
#include <map>
#include <set>

namespace cleave::view {

using namespace rt;

namespace {

struct Interval {
  double begin, end;
};

// Returns the same intervals, sorted and without overlaps.
std::vector<Interval> unionOf(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval &a, const Interval &b) { return a.begin < b.begin; });
  std::vector<Interval> merged;
  for (const Interval &one : intervals)
    if (!merged.empty() && one.begin <= merged.back().end)
      merged.back().end = std::max(merged.back().end, one.end);
    else
      merged.push_back(one);
  return merged;
}

double lengthOfAll(const std::vector<Interval> &intervals) {
  double sum = 0;
  for (const Interval &one : intervals)
    sum += one.end - one.begin;
  return sum;
}

// Returns the length of the intersection of two unions.
double overlap(const std::vector<Interval> &a, const std::vector<Interval> &b) {
  double sum = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max(0.0, std::min(a[i].end, b[j].end) - std::max(a[i].begin, b[j].begin));
    ++(a[i].end < b[j].end ? i : j);
  }
  return sum;
}

InstructionView viewOfSpan(const fb::Plan &kind, const plan::StreamSpan &span) {
  return InstructionView(*kind.programs()->Get(span.program)->instructions()->Get(span.instruction));
}

// True if data moves between ranks, or between the device's memory and the host's.
bool communicates(const fb::Plan &kind, const InstructionView &view) {
  if (isCollective(view.opcode()) || isTransfer(view.opcode()))
    return true;
  auto spaceOf = [&](size_t buffer) { return kind.regions()->Get(view.buffer(buffer).region())->space(); };
  return view.opcode() == Opcode::Copy && spaceOf(0) != spaceOf(1);
}

PredictedKind kindOf(const fb::Plan &kind, const plan::KindTimeline &timeline) {
  PredictedKind result;
  for (uint32_t i = 0; i < lengthOf(kind.streams()); ++i)
    result.streams.push_back({kind.streams()->Get(i)->str(), 0, 0});
  std::vector<Interval> computing, communicating;
  for (const plan::StreamSpan &span : timeline.spans) {
    bool isSent = communicates(kind, viewOfSpan(kind, span));
    (isSent ? communicating : computing).push_back({span.start, span.end});
    PredictedStream &stream = result.streams[span.stream];
    (isSent ? stream.communication : stream.compute) += span.end - span.start;
    result.seconds = std::max(result.seconds, span.end);
  }
  computing = unionOf(std::move(computing));
  communicating = unionOf(std::move(communicating));
  result.communication = lengthOfAll(communicating);
  result.exposed = result.communication - overlap(communicating, computing);
  return result;
}

std::vector<PredictedKernel> kernelsOf(const std::vector<const fb::Plan *> &kinds, const plan::StepTimeline &timeline) {
  std::map<std::pair<size_t, size_t>, PredictedKernel> rows;
  std::map<std::pair<size_t, size_t>, std::set<std::string_view>> notes;
  for (size_t kind = 0; kind < kinds.size(); ++kind)
    for (const plan::StreamSpan &span : timeline.kinds[kind].spans) {
      InstructionView view = viewOfSpan(*kinds[kind], span);
      if (view.opcode() != Opcode::Launch)
        continue;
      std::pair<size_t, size_t> key{kind, static_cast<size_t>(view["kernel"])};
      PredictedKernel &row = rows[key];
      if (row.launches == 0)
        row.node = nodeOfNote(view.note());
      row.kind = key.first;
      row.kernel = key.second;
      ++row.launches;
      row.seconds += span.end - span.start;
      notes[key].insert(view.note());
      row.nodes = notes[key].size();
    }
  std::vector<PredictedKernel> list;
  for (auto &[key, row] : rows)
    list.push_back(std::move(row));
  std::stable_sort(list.begin(), list.end(), [](const auto &a, const auto &b) { return a.seconds > b.seconds; });
  return list;
}

} // namespace

uint64_t samplesOf(const fb::Plan &plan) {
  return plan.batch() * plan.micro_batches() * axesSize(plan, plan.data_axes());
}

uint64_t tokensOf(const fb::Plan &plan) {
  auto entry = plan::mainProgram(plan);
  return entry ? samplesOf(plan) * tokensPerSample(*plan.programs()->Get(*entry)) : 0;
}

Status predict(const fb::Plan &plan, const plan::InstructionCosts &costs, Prediction *prediction) {
  auto entry = plan::mainProgram(plan);
  if (!entry)
    return invalidArgument("the plan has no program to predict");
  prediction->entry = textOf(plan.programs()->Get(*entry)->name());
  auto cost = [&](const fb::Plan &kind, uint32_t, const InstructionView &view) { return costs.seconds(kind, view); };
  auto timeline = plan::timelineOf(plan, prediction->entry, cost, plan::TimelineDetail::Streams);
  if (!timeline)
    return invalidArgument("a run of " + prediction->entry + " has more than " + countText(plan::kMostInstructions) +
                           " instructions, too many to follow");
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  for (size_t i = 0; i < kinds.size(); ++i) {
    prediction->kinds.push_back(kindOf(*kinds[i], timeline->kinds[i]));
    prediction->seconds = std::max(prediction->seconds, prediction->kinds.back().seconds);
  }
  prediction->kernels = kernelsOf(kinds, *timeline);
  prediction->samples = samplesOf(plan);
  prediction->tokens = tokensOf(plan);
  prediction->timeline = std::move(*timeline);
  return Status::ok();
}

} // namespace cleave::view

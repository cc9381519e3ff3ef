#include "compiler/Driver/Report/MeasuredTimeline.h"

#include "compiler/Support/Error.h"
#include "compiler/Support/InputFile.h"
#include "runtime/base/JsonDepth.h"
#include "runtime/plan/PlanPrinter.h"
#include "runtime/plan/RankKinds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace cleave;

namespace {

using Track = std::pair<int64_t, int64_t>; // rank, number

struct Event {
  Track track;
  std::string name;
  double begin = 0, end = 0; // seconds
  std::string body;          // empty: the step itself
  int64_t microBatch = 0;
};

// The content of the file (runtime/base/Trace.cpp): the names of ranks and tracks, and the spans.
struct Trace {
  std::map<int64_t, std::string> ranks; // "rank 2, stage1"
  std::map<Track, std::string> tracks;  // a stream, or "steps"
  std::vector<Event> events;
  bool isOfOneProcess = true;
};

Event spanOf(const llvm::json::Object &event, Track track, double start) {
  double begin = start + event.getNumber("ts").value_or(0) * 1e-6;
  double end = begin + event.getNumber("dur").value_or(0) * 1e-6;
  Event span{track, event.getString("name").value_or("").str(), begin, end, "", 0};
  if (const llvm::json::Object *args = event.getObject("args")) {
    span.body = args->getString("body").value_or("").str();
    span.microBatch = args->getInteger("micro_batch").value_or(0);
  }
  return span;
}

// Later computations would treat times beyond a million years as infinite or NaN, and NaN cannot be sorted.
bool isTime(const Event &event) {
  constexpr double kLatest = 1e14; // seconds
  return std::abs(event.begin) < kLatest && std::abs(event.end) < kLatest && event.begin <= event.end;
}

// A larger file could exhaust the machine's memory: the parser's values are some twenty times as large as the text.
constexpr uint64_t kLargestTrace = uint64_t{1} << 30;

llvm::Error checkTraceText(const std::string &path, llvm::StringRef text) {
  std::string expected = path + ": expected the JSON that `train --trace` writes; got: ";
  if (text.size() > kLargestTrace)
    return makeError(expected + "a file of " + std::to_string(text.size()) + " bytes, and at most " +
                     std::to_string(kLargestTrace) + " are read; trace fewer steps");
  if (rt::isJsonDeeper(std::string_view(text.data(), text.size())))
    return makeError(expected + "brackets that nest deeper than " + std::to_string(rt::kJsonLevels) + " levels");
  return llvm::Error::success();
}

// `plan` is the fingerprint of the plan that the trace must be of. A file without one is of an older program.
llvm::Error readTrace(const std::string &path, llvm::StringRef plan, Trace &trace) {
  auto buffer = readInputFile(path, "the JSON that `train --trace` writes");
  if (!buffer)
    return buffer.takeError();
  if (llvm::Error error = checkTraceText(path, (*buffer)->getBuffer()))
    return error;
  llvm::Expected<llvm::json::Value> json = llvm::json::parse((*buffer)->getBuffer());
  if (!json)
    return makeError(path + ": expected the JSON that `train --trace` writes; " + llvm::toString(json.takeError()));
  const llvm::json::Object *root = json->getAsObject();
  const llvm::json::Array *events = root ? root->getArray("traceEvents") : nullptr;
  if (!events)
    return makeError(path + ": expected the JSON that `train --trace` writes, an object with traceEvents");
  const llvm::json::Object *other = root->getObject("otherData");
  if (other && other->getString("plan").value_or(plan) != plan)
    return makeError(path + ": the trace is of another program; take the program that wrote the trace");
  double start = other ? other->getNumber("startNs").value_or(0) * 1e-9 : 0; // on the machine's clock
  for (const llvm::json::Value &value : *events) {
    const llvm::json::Object *event = value.getAsObject();
    if (!event)
      continue;
    Track track{event->getInteger("pid").value_or(0), event->getInteger("tid").value_or(0)};
    const llvm::json::Object *args = event->getObject("args");
    std::string title = args ? args->getString("name").value_or("").str() : "";
    if (event->getString("ph") == "X") {
      trace.events.push_back(spanOf(*event, track, start));
      if (!isTime(trace.events.back())) // named by its index, because its name may be any text
        return makeError(path + ": expected the JSON that `train --trace` writes; got: traceEvents[" +
                         std::to_string(&value - events->data()) + "], whose ts and dur are no times");
    } else if (event->getString("name") == "process_name")
      trace.ranks[track.first] = title;
    else if (event->getString("name") == "thread_name")
      trace.tracks[track] = title;
  }
  return llvm::Error::success();
}

// Reads FILE of a single process, or FILE.0, FILE.1, ... of several processes.
llvm::Expected<Trace> readTraces(llvm::StringRef file, llvm::StringRef plan) {
  std::vector<std::string> paths;
  if (llvm::sys::fs::exists(file))
    paths.push_back(file.str());
  else
    for (std::string path = (file + ".0").str(); llvm::sys::fs::exists(path);
         path = (file + "." + llvm::Twine(paths.size())).str())
      paths.push_back(path);
  if (paths.empty())
    return makeError(file + ": there is no such file, nor " + file + ".0, the first of several processes");
  Trace trace;
  trace.isOfOneProcess = paths.size() == 1;
  for (const std::string &path : paths)
    if (llvm::Error error = readTrace(path, plan, trace))
      return error;
  return trace;
}

// Returns the step of median duration. The first step is left out, because it accesses memory for the first time.
const Event *chooseStep(const Trace &trace, size_t &count) {
  std::vector<const Event *> steps;
  // Each process has a track "steps"; the first one is used.
  auto track = llvm::find_if(trace.tracks, [](const auto &one) { return one.second == "steps"; });
  for (const Event &event : trace.events)
    if (track != trace.tracks.end() && event.track == track->first)
      steps.push_back(&event);
  count = steps.size();
  if (steps.size() > 1)
    steps.erase(steps.begin());
  if (steps.empty())
    return nullptr;
  llvm::sort(steps, [](const Event *a, const Event *b) { return a->end - a->begin < b->end - b->begin; });
  return steps[steps.size() / 2];
}

// Returns the first rank of a kind in the file.
std::optional<int64_t> rankOf(const Trace &trace, llvm::StringRef kind) {
  for (const auto &[rank, title] : trace.ranks)
    if (llvm::StringRef(title).split(", ").second == kind)
      return rank;
  return std::nullopt;
}

bool isWaiting(llvm::StringRef name) { return name == "wait" || name == "record"; }

// Returns the spans of all streams of the rank in the step.
std::vector<plan::StreamSpan> spansOf(const Trace &trace, int64_t rank, const rt::fb::Plan &kind, const Event &step) {
  std::map<std::string, unsigned> streams;
  for (unsigned i = 0; i < rt::lengthOf(kind.streams()); ++i)
    streams[kind.streams()->Get(i)->str()] = i;
  std::vector<plan::StreamSpan> spans;
  for (const Event &event : trace.events) {
    if (event.track.first != rank || event.begin < step.begin || event.begin >= step.end || isWaiting(event.name))
      continue;
    auto track = trace.tracks.find(event.track);
    auto stream = track == trace.tracks.end() ? streams.end() : streams.find(track->second);
    if (stream == streams.end())
      continue;
    plan::StreamSpan span;
    span.stream = stream->second;
    span.start = event.begin - step.begin;
    span.end = event.end - step.begin;
    span.microBatch = event.microBatch;
    span.name = event.body.empty()
                    ? event.name
                    : event.name + "\n" + event.body + ", micro-batch " + std::to_string(event.microBatch);
    spans.push_back(std::move(span));
  }
  return spans;
}

// Returns the rank's bodies in the step, in order. Adjacent spans of one body and micro-batch are joined.
plan::KindTimeline timelineOf(const Trace &trace, int64_t rank, llvm::StringRef stream, const Event &step) {
  std::vector<const Event *> events;
  for (const Event &event : trace.events)
    if (event.track.first == rank && event.begin >= step.begin && event.begin < step.end && !isWaiting(event.name))
      if (auto track = trace.tracks.find(event.track); track != trace.tracks.end() && track->second == stream)
        events.push_back(&event);
  llvm::stable_sort(events, [](const Event *a, const Event *b) { return a->begin < b->begin; });
  plan::KindTimeline timeline;
  for (const Event *event : events) {
    std::vector<plan::BodySpan> &bodies = timeline.bodies;
    if (bodies.empty() || bodies.back().program != event->body || bodies.back().microBatch != event->microBatch)
      bodies.push_back({event->body, event->microBatch, event->begin - step.begin, event->end - step.begin, 0});
    bodies.back().end = event->end - step.begin;
    bodies.back().busy += event->end - event->begin;
    timeline.busy += event->end - event->begin;
  }
  return timeline;
}

} // namespace

llvm::Expected<view::Measured> cleave::measuredStep(const rt::fb::Plan &plan, llvm::StringRef traceFile) {
  llvm::Expected<Trace> trace = readTraces(traceFile, rt::planFingerprint(plan));
  if (!trace)
    return trace.takeError();
  view::Measured measured;
  size_t steps = 0;
  const Event *step = chooseStep(*trace, steps);
  if (!step)
    return makeError(traceFile + ": the trace has no step of training; write one by `train --steps 10 --trace FILE`");
  measured.isOfOneProcess = trace->isOfOneProcess;
  measured.source = step->name + " of " + std::to_string(steps) + " in " + traceFile.str();
  for (const rt::fb::Plan *kind : rt::kindsOf(plan)) {
    llvm::StringRef name(kind->kind() ? kind->kind()->c_str() : "");
    std::optional<int64_t> rank = rankOf(*trace, name);
    if (!rank)
      return makeError(traceFile + ": the trace has no rank of " + name +
                       "; expected the trace of this program, with the files of all processes");
    plan::KindTimeline timeline = timelineOf(*trace, *rank, kind->streams()->Get(0)->str(), *step);
    timeline.kind = name.str();
    timeline.spans = spansOf(*trace, *rank, *kind, *step);
    for (const plan::BodySpan &body : timeline.bodies)
      measured.timeline.duration = std::max(measured.timeline.duration, body.end);
    measured.timeline.kinds.push_back(std::move(timeline));
  }
  return measured;
}

#include "runtime/base/Trace.h"

#include "runtime/base/Clock.h"

#include <algorithm>

namespace cleave::rt {

uint64_t TraceSink::now() { return static_cast<uint64_t>(nanosecondsNow()); }

unsigned ChromeTrace::addTrack(int rank, const std::string &kind, const std::string &stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  unsigned index = count_;
  if (index == kMaxTracks)
    return kMaxTracks; // span() counts its spans as dropped
  tracks_[index] = std::make_unique<Track>(Track{rank, kind, stream, {}});
  tracks_[index]->spans.reserve(capacity_);
  count_ = index + 1;
  return index;
}

void ChromeTrace::span(unsigned track, const char *name, uint64_t beginNs, uint64_t endNs, const SpanArgs &args) {
  if (track >= kMaxTracks || tracks_[track]->spans.size() == capacity_) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  tracks_[track]->spans.push_back({name, beginNs, endNs, args});
}

void ChromeTrace::step(uint64_t number, uint64_t beginNs, uint64_t endNs) {
  if (steps_.size() == capacity_)
    dropped_.fetch_add(1, std::memory_order_relaxed);
  else
    steps_.push_back({number, beginNs, endNs});
}

uint64_t ChromeTrace::firstBegin() const {
  uint64_t first = UINT64_MAX;
  for (unsigned i = 0; i < count_; ++i)
    for (const Span &span : tracks_[i]->spans)
      first = std::min(first, span.begin);
  for (const Step &step : steps_)
    first = std::min(first, step.begin);
  return first;
}

bool ChromeTrace::isEmpty() const {
  for (unsigned i = 0; i < count_; ++i)
    if (!tracks_[i]->spans.empty())
      return false;
  return true;
}

static void appendEscaped(std::string &text, const char *name) {
  for (; *name; ++name) {
    if (*name == '"' || *name == '\\')
      text += '\\';
    if (static_cast<unsigned char>(*name) >= 0x20)
      text += *name;
  }
}

// Chrome and Perfetto count in microseconds.
static std::string microseconds(uint64_t nanoseconds) {
  std::string fraction = std::to_string(1000 + nanoseconds % 1000).substr(1);
  return std::to_string(nanoseconds / 1000) + "." + fraction;
}

// The details of a span as the end of a JSON object. Empty if there are none.
static std::string argsOf(const TraceSink::SpanArgs &args) {
  std::string text;
  if (args.bytes)
    text += "\"bytes\":" + std::to_string(args.bytes);
  if (args.body) {
    text += (text.empty() ? "\"body\":\"" : ",\"body\":\"");
    appendEscaped(text, args.body);
    text += "\",\"micro_batch\":" + std::to_string(args.microBatch);
  }
  return text.empty() ? "" : ",\"args\":{" + text + "}";
}

std::string ChromeTrace::stepEvents(uint64_t start) const {
  if (steps_.empty() || count_ == 0)
    return "";
  int first = tracks_[0]->rank; // the process's first rank; ranks make their tracks in any order
  for (unsigned i = 1; i < count_; ++i)
    first = std::min(first, tracks_[i]->rank);
  std::string args = "\"pid\":" + std::to_string(first) + ",\"tid\":" + std::to_string(count_);
  std::string text = "{\"ph\":\"M\",\"name\":\"thread_name\"," + args + ",\"args\":{\"name\":\"steps\"}},\n";
  for (const Step &step : steps_)
    text += "{\"ph\":\"X\"," + args + ",\"ts\":" + microseconds(step.begin - start) +
            ",\"dur\":" + microseconds(step.end - step.begin) + ",\"name\":\"step " + std::to_string(step.number) +
            "\"},\n";
  return text;
}

std::string ChromeTrace::json() const {
  uint64_t start = firstBegin();
  std::string text = "{\"otherData\":{\"dropped\":" + std::to_string(dropped()) +
                     (plan_.empty() ? "" : ",\"plan\":\"" + plan_ + "\"") +
                     ",\"startNs\":" + std::to_string(isEmpty() ? 0 : start) + "},\"traceEvents\":[\n";
  unsigned count = count_;
  for (unsigned i = 0; i < count; ++i) {
    const Track &track = *tracks_[i];
    std::string pid = "\"pid\":" + std::to_string(track.rank);
    text +=
        "{\"ph\":\"M\",\"name\":\"process_name\"," + pid + ",\"args\":{\"name\":\"rank " + std::to_string(track.rank);
    if (!track.kind.empty())
      text += ", ";
    appendEscaped(text, track.kind.c_str());
    text += "\"}},\n";
    std::string args = pid + ",\"tid\":" + std::to_string(i);
    text += "{\"ph\":\"M\",\"name\":\"thread_name\"," + args + ",\"args\":{\"name\":\"";
    appendEscaped(text, track.stream.c_str());
    text += "\"}},\n";
    for (const Span &span : track.spans) {
      text += "{\"ph\":\"X\"," + args + ",\"ts\":" + microseconds(span.begin - start) +
              ",\"dur\":" + microseconds(span.end - span.begin) + ",\"name\":\"";
      appendEscaped(text, span.name);
      text += "\"" + argsOf(span.args) + "},\n";
    }
  }
  text += stepEvents(start);
  // JSON allows no comma after the last element, so the list ends with an event without meaning.
  return text + "{\"ph\":\"M\",\"name\":\"end\",\"pid\":0}]}\n";
}

} // namespace cleave::rt

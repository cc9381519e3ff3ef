#include "runtime/base/Trace.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace cleave::rt {

uint64_t TraceSink::now() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

unsigned ChromeTrace::addTrack(int rank, const std::string &stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  unsigned index = count_;
  if (index == kMaxTracks)
    return kMaxTracks; // span() counts what goes there as dropped
  tracks_[index] = std::make_unique<Track>(Track{rank, stream, {}});
  tracks_[index]->spans.reserve(capacity_);
  count_ = index + 1;
  return index;
}

void ChromeTrace::span(unsigned track, const char *name, uint64_t beginNs, uint64_t endNs) {
  if (track >= kMaxTracks || tracks_[track]->spans.size() == capacity_) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  tracks_[track]->spans.push_back({name, beginNs, endNs});
}

static void writeEscaped(std::FILE *file, const char *text) {
  for (; *text; ++text) {
    if (*text == '"' || *text == '\\')
      std::fputc('\\', file);
    if (static_cast<unsigned char>(*text) >= 0x20)
      std::fputc(*text, file);
  }
}

Status ChromeTrace::write(const std::string &path) const {
  std::FILE *file = std::fopen(path.c_str(), "w");
  if (!file)
    return ioError("cannot write the trace '" + path + "': " + std::strerror(errno));
  std::fprintf(file, "{\"otherData\":{\"dropped\":%zu},\"traceEvents\":[\n", dropped());
  unsigned count = count_;
  for (unsigned i = 0; i < count; ++i) {
    const Track &track = *tracks_[i];
    std::fprintf(file, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"rank %d\"}},\n",
                 track.rank, track.rank);
    std::fprintf(file, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%u,\"args\":{\"name\":\"", track.rank,
                 i);
    writeEscaped(file, track.stream.c_str());
    std::fputs("\"}},\n", file);
    for (const Span &span : track.spans) {
      std::fprintf(file, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"name\":\"", track.rank, i,
                   span.begin / 1e3, (span.end - span.begin) / 1e3);
      writeEscaped(file, span.name);
      std::fputs("\"},\n", file);
    }
  }
  // JSON allows no comma after the last element: close with an event that means nothing.
  std::fputs("{\"ph\":\"M\",\"name\":\"end\",\"pid\":0}]}\n", file);
  bool failed = std::ferror(file) != 0;
  if (std::fclose(file) != 0 || failed)
    return ioError("cannot write the trace '" + path + "': the file system refused it");
  return Status::ok();
}

} // namespace cleave::rt

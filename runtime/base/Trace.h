// What ran when: begin and end of instructions, per rank and stream.
//
// TraceSink is what the executor knows; ChromeTrace is what `--trace FILE` makes: a Chrome/Perfetto JSON file with one
// track per (rank, stream). Events go to buffers that are allocated when a track is made, so tracing allocates nothing
// while a step runs; a full buffer drops events, and the file says how many.
#ifndef CLEAVE_RUNTIME_BASE_TRACE_H
#define CLEAVE_RUNTIME_BASE_TRACE_H

#include "runtime/base/Status.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cleave::rt {

class TraceSink {
public:
  virtual ~TraceSink() = default;
  // A track for (rank, stream); called when a rank is created. The number is passed to span().
  virtual unsigned addTrack(int rank, const std::string &stream) = 0;
  // One finished span; times from now(). `name` must live as long as the sink. One thread per track.
  virtual void span(unsigned track, const char *name, uint64_t beginNs, uint64_t endNs) = 0;

  // Nanoseconds of the monotonic clock.
  static uint64_t now();
};

class ChromeTrace : public TraceSink {
public:
  explicit ChromeTrace(size_t spansPerTrack = 1 << 16) : capacity_(spansPerTrack) {}

  unsigned addTrack(int rank, const std::string &stream) override;
  void span(unsigned track, const char *name, uint64_t beginNs, uint64_t endNs) override;
  // Writes what was recorded so far; call it while no rank runs.
  Status write(const std::string &path) const;
  size_t dropped() const { return dropped_; }

private:
  struct Span {
    const char *name;
    uint64_t begin, end;
  };
  struct Track {
    int rank;
    std::string stream;
    std::vector<Span> spans; // reserved; never grows
  };
  static constexpr unsigned kMaxTracks = 1024; // fixed, so that span() needs no lock against addTrack()

  size_t capacity_;
  std::mutex mutex_; // addTrack
  std::vector<std::unique_ptr<Track>> tracks_ = std::vector<std::unique_ptr<Track>>(kMaxTracks);
  std::atomic<unsigned> count_{0};
  std::atomic<size_t> dropped_{0};
};

} // namespace cleave::rt

#endif

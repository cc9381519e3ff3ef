// What ran when: begin and end of instructions, per rank and stream.
//
// TraceSink is what the executor knows; ChromeTrace is what `--trace FILE` makes: a Chrome/Perfetto JSON file with one
// track per (rank, stream), and one of whole steps; the first event begins at 0, which is otherData.startNs of the
// machine's clock, so that the files of several processes can be laid beside each other. A rank's title names its kind
// ("rank 2, stage1"), and what runs in a body has the body's name and its micro-batch. Events go to buffers that are
// allocated when a track is made, so tracing allocates nothing while a step runs; a full buffer drops events, and the
// file says how many.
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
  // What a span is part of. Texts live as long as the sink.
  struct SpanArgs {
    uint64_t bytes = 0;         // what a collective, a send or a receive works on; 0 for anything else
    const char *body = nullptr; // the program that was called; null in an entry program
    int64_t microBatch = 0;     // of the body
  };

  // A track for (rank, stream); called when a rank is created. The number is passed to span(). `kind` is that of the
  // rank; empty where there is one only.
  virtual unsigned addTrack(int rank, const std::string &kind, const std::string &stream) = 0;
  // One finished span; times from now(). `name` must live as long as the sink. One thread per track.
  virtual void span(unsigned track, const char *name, uint64_t beginNs, uint64_t endNs, const SpanArgs &args) = 0;

  // Nanoseconds of the monotonic clock.
  static uint64_t now();
};

class ChromeTrace : public TraceSink {
public:
  explicit ChromeTrace(size_t spansPerTrack = 1 << 16) : capacity_(spansPerTrack) {}

  unsigned addTrack(int rank, const std::string &kind, const std::string &stream) override;
  void span(unsigned track, const char *name, uint64_t beginNs, uint64_t endNs, const SpanArgs &args) override;
  // A whole step of training, on a track of its own; called between steps.
  void step(uint64_t number, uint64_t beginNs, uint64_t endNs);
  // What was recorded so far, as the text of the file; call it while no rank runs.
  std::string json() const;
  bool isEmpty() const;
  size_t dropped() const { return dropped_; }

private:
  struct Span {
    const char *name;
    uint64_t begin, end;
    SpanArgs args;
  };
  struct Step {
    uint64_t number, begin, end;
  };
  struct Track {
    int rank;
    std::string kind, stream;
    std::vector<Span> spans; // reserved; never grows
  };
  uint64_t firstBegin() const;
  std::string stepEvents(uint64_t start) const;

  static constexpr unsigned kMaxTracks = 1024; // fixed, so that span() needs no lock against addTrack()

  size_t capacity_;
  std::mutex mutex_; // addTrack
  std::vector<std::unique_ptr<Track>> tracks_ = std::vector<std::unique_ptr<Track>>(kMaxTracks);
  std::vector<Step> steps_;
  std::atomic<unsigned> count_{0};
  std::atomic<size_t> dropped_{0};
};

} // namespace cleave::rt

#endif

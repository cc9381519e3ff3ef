// Records when each instruction begins and ends, for each rank and stream.
//
// The executor uses TraceSink. ChromeTrace implements it for `--trace FILE`, which writes a Chrome/Perfetto JSON file.
// The file has one track for each (rank, stream), and one for whole steps. Its first event begins at 0.
// otherData.startNs is that time on the machine's clock, so the files of several processes can be aligned. The title of
// a rank names its kind ("rank 2, stage1"). A span in a body has the body's name and its micro-batch. Buffers are
// allocated when a track is made, so tracing allocates nothing while a step runs. A full buffer drops events, and the
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
  // Details of a span. Texts must live as long as the sink.
  struct SpanArgs {
    uint64_t bytes = 0;         // bytes that a collective, a send or a receive works on; otherwise 0
    const char *body = nullptr; // the program, if it was called; null in an entry program
    int64_t microBatch = 0;     // of the body
  };

  // Makes a track for (rank, stream), when a rank is created. Returns the number that span() needs. `kind` is the
  // rank's kind; empty if there is only one.
  virtual unsigned addTrack(int rank, const std::string &kind, const std::string &stream) = 0;
  // Adds a finished span. Times are those of now(). `name` must live as long as the sink. Only one thread may use a
  // track.
  virtual void span(unsigned track, const char *name, uint64_t beginNs, uint64_t endNs, const SpanArgs &args) = 0;

  // Nanoseconds of the monotonic clock.
  static uint64_t now();
};

class ChromeTrace : public TraceSink {
public:
  explicit ChromeTrace(size_t spansPerTrack = 1 << 16) : capacity_(spansPerTrack) {}

  unsigned addTrack(int rank, const std::string &kind, const std::string &stream) override;
  void span(unsigned track, const char *name, uint64_t beginNs, uint64_t endNs, const SpanArgs &args) override;
  // Says of which plan the spans are (planFingerprint()). The file has it as otherData.plan.
  void setPlan(std::string fingerprint) { plan_ = std::move(fingerprint); }
  // Adds a whole training step, on a track of its own. It must be called between steps.
  void step(uint64_t number, uint64_t beginNs, uint64_t endNs);
  // Returns everything that was recorded so far, as the text of the file. No rank may run meanwhile.
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
    std::vector<Span> spans; // reserved; never grows, so that no step allocates
  };
  uint64_t firstBegin() const;
  std::string stepEvents(uint64_t start) const;

  std::string plan_;
  static constexpr unsigned kMaxTracks = 1024; // fixed, so that span() needs no lock against addTrack()

  size_t capacity_;
  std::mutex mutex_; // for addTrack()
  std::vector<std::unique_ptr<Track>> tracks_ = std::vector<std::unique_ptr<Track>>(kMaxTracks);
  std::vector<Step> steps_;
  std::atomic<unsigned> count_{0};
  std::atomic<size_t> dropped_{0};
};

} // namespace cleave::rt

#endif

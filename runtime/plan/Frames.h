// Where a running program stands: its frame of each counter, and the arithmetic that the runtime and the proof share.
//
//   Frames frames;                            // of an entry program: 0 of all
//   frames.called(Counter::block, 3)          // what a call hands on: block 3, the same micro-batch
//   frames.place(Counter::block, -1, 4)       // of a region of 4 frames that follows blocks, one frame back: place 2
#ifndef CLEAVE_RUNTIME_PLAN_FRAMES_H
#define CLEAVE_RUNTIME_PLAN_FRAMES_H

#include "runtime/plan/Plan_generated.h"

#include <array>

namespace cleave::rt {

class Frames {
public:
  static constexpr size_t kCounters = static_cast<size_t>(fb::Counter::MAX) + 1;

  Frames() = default;
  static Frames ofMicroBatch(int64_t frame) { return Frames().called(fb::Counter::micro_batch, frame); }

  int64_t of(fb::Counter counter) const { return frames_[static_cast<size_t>(counter)]; }
  // Those of a program that is called `by` frames further on.
  Frames called(fb::Counter counter, int64_t by) const {
    Frames result = *this;
    result.frames_[static_cast<size_t>(counter)] += by;
    return result;
  }
  // The place of the frame that is `by` further on, where frames follow each other in `count` places.
  uint64_t place(fb::Counter counter, int64_t by, uint32_t count) const {
    int64_t place = (of(counter) + by) % int64_t{count};
    return static_cast<uint64_t>(place < 0 ? place + count : place);
  }

private:
  std::array<int64_t, kCounters> frames_{};
};

// Of the frame that a buffer lies in.
inline uint64_t placeOf(const fb::Region &region, const fb::Buffer &buffer, const Frames &frames) {
  return frames.place(region.counter(), buffer.frame(), region.frames());
}

} // namespace cleave::rt

#endif

// The frame of each counter in which a program runs, and the arithmetic on frames that the runtime and the proof of
// plans share.
//
//   Frames frames;                                         // of an entry program: frame 0 of each counter
//   Frames callee = frames.called(Counter::block, 3);      // of a callee: block 3, in the same micro-batch
//   callee.place(Counter::block, -1, 4)                    // one frame back, in a region of 4 frames: place 2
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
  // The frames of a callee that runs `by` frames after this program.
  Frames called(fb::Counter counter, int64_t by) const {
    Frames result = *this;
    result.frames_[static_cast<size_t>(counter)] += by;
    return result;
  }
  // The place of the frame that is `by` frames after this one, if the region or event has `count` frames.
  uint64_t place(fb::Counter counter, int64_t by, uint32_t count) const {
    int64_t place = (of(counter) + by) % int64_t{count};
    return static_cast<uint64_t>(place < 0 ? place + count : place);
  }

private:
  std::array<int64_t, kCounters> frames_{};
};

// The place of the buffer's frame in the region.
inline uint64_t placeOf(const fb::Region &region, const fb::Buffer &buffer, const Frames &frames) {
  return frames.place(region.counter(), buffer.frame(), region.frames());
}

} // namespace cleave::rt

#endif

// A step with fewer micro-batches, in which the races, wrong frames and hangs of the whole one show where its lists of
// calls are as build-programs makes them. (Rationale.md, Open, says which other lists can hide one.)
//
// The calls of a step name frames relative to the loop that makes them, and a loop goes through all micro-batches but
// a few at its ends. So the middle of a step repeats itself: what a body meets in micro-batch 200 is what it met in
// 199, one frame further on. Where regions have few frames, Execution skips what has come round (roundOf). GPipe has a frame
// for each micro-batch, which never comes round within a step. Its step of 512 is proved as one of about 80:
//
//   region residual, frames 512     frames 80
//   call @loop.0 times 511          times 79
//   call @send first_frame 511      first_frame 79
//
// Every number of the plan that counts micro-batches is then either small (at most `reach`) or differs by as little from
// the number of micro-batches: the short step has the same beginning, the same end, and a middle that is longer than
// any one number reaches. What orders two accesses that are d frames apart does so wherever they are, or fails at one of
// the ends. The part that is left out is a multiple of all small numbers of frames and of all strides, so that what is
// left at the end lies in the same places. A step that is not of this form is looked at as it is, and so is one in whose
// short form something is found: findings then name the frames of the whole.
//
// What is not checked: that sums of such numbers (many short loops in one list, loops in loops, offsets of nested calls)
// are small, too.
#ifndef CLEAVE_COMPILER_PLANNING_SHORTSTEP_H
#define CLEAVE_COMPILER_PLANNING_SHORTSTEP_H

#include "compiler/Planning/PlanVerifier.h"
#include "runtime/plan/InstructionView.h"
#include "runtime/plan/Plan_generated.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace cleave::plan {

class ShortStep {
public:
  // The step as it is.
  ShortStep() = default;
  // Of the entry of that name on all these kinds; the step as it is where it is not of the form above or not long.
  static ShortStep of(const std::vector<const rt::fb::Plan *> &kinds, std::string_view entry, Steps steps);

  explicit operator bool() const { return cut_ != 0; }
  uint32_t framesOf(const rt::fb::Region &region) const { return framesOf(region.counter(), region.frames()); }
  uint32_t framesOf(const rt::fb::Event &event) const { return framesOf(event.counter(), event.frames()); }
  // Of a call in an entry; calls in bodies are as they are.
  int64_t timesOf(const rt::InstructionView &call) const;
  int64_t firstFrameOf(const rt::InstructionView &call) const;

private:
  uint32_t framesOf(rt::fb::Counter counter, uint32_t frames) const {
    bool isLong = cut_ != 0 && counter == rt::fb::Counter::micro_batch && frames >= half_;
    return isLong ? static_cast<uint32_t>(frames - cut_) : frames;
  }

  int64_t half_ = 0, cut_ = 0; // half of the micro-batches, and how many are left out
};

// What `find` finds in the short step if that is nothing, and in the whole one otherwise. Where the whole is too long,
// what the short one shows stands beside that.
template <typename Find> std::vector<Finding> findShortFirst(const ShortStep &shortStep, Find find) {
  std::vector<Finding> ofShort = find(shortStep);
  if (!shortStep || ofShort.empty())
    return ofShort;
  std::vector<Finding> found = find(ShortStep());
  bool isTooLong = std::any_of(found.begin(), found.end(), [](const Finding &one) { return one.rule == "too long"; });
  if (isTooLong)
    found.insert(found.end(), ofShort.begin(), ofShort.end());
  return found;
}

} // namespace cleave::plan

#endif

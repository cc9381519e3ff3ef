// A step of one kind of ranks with fewer micro-batches, which has a race or a wrong frame if the whole step has one.
//
// The calls of a step name frames relative to the loop that makes them, and a loop goes through all micro-batches but
// a few at its ends. So the middle of a step repeats itself: what a body meets in micro-batch 200 is what it met in
// 199, one frame further on. Where regions have few frames, Execution skips what has come round (roundOf). GPipe has a
// frame for each micro-batch, which never comes round within a step. Its step of 512 is proved as one of about 80:
//
//   region residual, frames 512     frames 80
//   call @loop.0 times 511          times 79
//   call @send first_frame 511      first_frame 79
//
// *Form.* A step has it if some region is such a one, all calls follow micro-batches, and each call of the entry either
// is a loop through all of them, but for a few at its ends, or begins and ends close to the first or to the last one.
// What a body names within itself, summed up along each path of calls, is at most `reach` frames away. Regions and
// events have few frames or nearly one for each micro-batch. Who waits for whom between ranks is looked at in the whole
// step (KindMatching.cpp, Meetings.cpp), which takes some 10 ms for 512 micro-batches.
//
// *Why no finding is lost.* Let the whole step have two accesses X, Y to one place that no path of events orders, or
// let X be the last to write what Y reads of another frame. Leave out iterations of all loops in windows that are
// multiples of `round`, which has all small numbers of frames and all strides, far from X and Y. Then X and Y are in
// the short step, at one place, since places of small regions count modulo a divisor of the window and those of long
// ones move along with frames; and nobody new is between them, since the short step has a part of the whole one's
// accesses. If the short step orders them, it has a path from X to Y that goes along each stream once, so it has at
// most `steps` steps from a record to its wait, which is the longest such path over the streams that events of the plan
// join (two, where others wait for the first stream alone). Each joins iterations that are at most `apart` frames from
// each other, as both name one frame: `apart` is the range of frames that a run of a body records and waits for.
// Between the beginning, X, Y and the end there is a place, wider than that, that none of these steps crosses, where
// the windows can be put back: then the path is one of the whole step. There is room for it in each of the three if the
// short step has as many micro-batches as
//
//   2 (what differs at the ends + reach + round) + 3 (steps (2 apart + 1) + 2 reach + round)
//
// A step that is not of this form is looked at as it is, and so is one in whose short form something is found: findings
// then name the frames of the whole. Along which axes states may differ after the step is not asked of a short one
// alone, since a value can take longer than that through registers: where a region has frames, bodies are run by
// themselves until what they say of axes stays (BodyRuns.h), and MeaningChecks.cpp compares that with what states are
// declared to be.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_SHORTSTEP_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_SHORTSTEP_H

#include "compiler/Planning/Verify/PlanVerifier.h"
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
  // Of the entry of that name; the step as it is where it is not of the form above or not long.
  static ShortStep of(const rt::fb::Plan &kind, std::string_view entry, Steps steps);

  explicit operator bool() const { return cut_ != 0; }
  uint32_t framesOf(const rt::fb::Region &region) const { return framesOf(region.counter(), region.frames()); }
  uint32_t framesOf(const rt::fb::Event &event) const { return framesOf(event.counter(), event.frames()); }
  uint32_t framesOf(rt::fb::Counter counter, uint32_t frames) const {
    bool isLong = cut_ != 0 && counter == rt::fb::Counter::micro_batch && frames >= half_;
    return isLong ? static_cast<uint32_t>(frames - cut_) : frames;
  }
  // Of a call in an entry; calls in bodies are as they are.
  int64_t timesOf(const rt::InstructionView &call) const;
  int64_t firstFrameOf(const rt::InstructionView &call) const;

private:
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

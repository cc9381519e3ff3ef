// A step of one kind of ranks with fewer micro-batches. It has a race or a wrong frame if the whole step has one.
//
// The calls of a step name frames relative to the loop that makes them, and a loop goes through all micro-batches,
// except a few at its ends. So the middle of a step repeats itself: a body meets in micro-batch 200 what it met in
// micro-batch 199, one frame further on. If regions have few frames, Execution skips rounds that repeat (roundOf).
// GPipe has a frame for each micro-batch, so nothing repeats within a step. Its step of 512 micro-batches is proved as
// one of 80:
//
//   region residual, frames 512     frames 80
//   call @loop.0 times 511          times 79
//   call @send first_frame 511      first_frame 79
//
// *Form.* A step has the form if these conditions hold. Some region has a frame for nearly every micro-batch. All calls
// follow micro-batches. Each call of the entry is a loop through all micro-batches, except a few at its ends, or it
// begins and ends close to the first or to the last one. The frames that a body names within itself, summed up along
// each path of calls, are at most `reach` frames away. Regions and events have few frames, or one for nearly every
// micro-batch. The order between ranks is always examined in the whole step (KindMatching.cpp, Meetings.cpp), which
// takes some 10 ms for 512 micro-batches.
//
// *Why no finding is lost.* Suppose that the whole step has two accesses X, Y to one place that no path of events
// orders, or that X is the last to write what Y reads of another frame. Leave out iterations of all loops, in windows
// far from X and Y. The length of a window is a multiple of `round`, which is a multiple of all small numbers of frames
// and of all strides. Then X and Y are in the short step, at one place: places of small regions count modulo a divisor
// of the window, and those of long regions move along with frames. No other access comes between them, because the
// short step has a part of the whole step's accesses.
//
// If the short step orders X and Y, it has a path from X to Y that goes along each stream once. So the path has at most
// `steps` steps from a record to its wait. `steps` is the longest such path over the streams that events of the plan
// join (two, if the other streams wait only for the first one). Each step joins iterations that are at most `apart`
// frames from each other, because record and wait name one frame: `apart` is the range of frames that a run of a body
// records and waits for. In each of the three intervals between the beginning, X, Y and the end, there is a place,
// wider than that, that none of these steps crosses. The windows can be put back there, so the path is also one of the
// whole step. Each interval has room for such a place if the short step has as many micro-batches as
//
//   2 (what differs at the ends + reach + round) + 3 (steps (2 apart + 1) + 2 reach + round)
//
// A step that does not have this form is examined as it is. So is a step whose short form has a finding, because
// findings then name the frames of the whole step. The short step alone does not decide along which axes states may
// differ after the step, because a value may take longer than that through registers. If a region has frames, bodies
// are run by themselves until what they say of axes is stable (BodyRuns.h), and RankKindVerifier compares this with
// the declared states.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_ORDER_SHORTSTEP_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_ORDER_SHORTSTEP_H

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
  // The short step of the entry with this name. It is the step as it is if `steps` asks for that, or if the step does
  // not have the form above or is not long.
  static ShortStep of(const rt::fb::Plan &kind, std::string_view entry, Steps steps);

  explicit operator bool() const { return cut_ != 0; }
  uint32_t framesOf(const rt::fb::Region &region) const { return framesOf(region.counter(), region.frames()); }
  uint32_t framesOf(const rt::fb::Event &event) const { return framesOf(event.counter(), event.frames()); }
  uint32_t framesOf(rt::fb::Counter counter, uint32_t frames) const {
    bool isLong = cut_ != 0 && counter == rt::fb::Counter::micro_batch && frames >= half_;
    return isLong ? static_cast<uint32_t>(frames - cut_) : frames;
  }
  // These are for a call in an entry. Calls in bodies are as they are.
  int64_t timesOf(const rt::InstructionView &call) const;
  int64_t firstFrameOf(const rt::InstructionView &call) const;

private:
  int64_t half_ = 0, cut_ = 0; // half of the micro-batches, and how many are left out
};

// Returns what `find` finds in the short step if that is nothing, and what it finds in the whole step otherwise. If the
// whole step is too long, the findings of the short step are added.
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

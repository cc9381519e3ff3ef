// Computes when each body of a step runs, for given costs. It reads the instructions, streams, events and transfers of
// the plan's file. So the drawn schedule of a pipeline, and its idle time, are those of the plan that will run, and not
// those of the list that the plan was made from.
//
// The order is that of EntryGraph. A send and its receive happen together, when both ranks have reached them. A GPU runs
// all communication of its rank in issue order. So there, an all-gather waits for an all-reduce that was issued before
// it, also on another stream.
#ifndef CLEAVE_COMPILER_SIMULATOR_STEPTIMELINE_H
#define CLEAVE_COMPILER_SIMULATOR_STEPTIMELINE_H

#include "runtime/plan/InstructionView.h"
#include "runtime/plan/PlanReader.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cleave::plan {

// The cost of one instruction of a program, in any unit.
using InstructionCost =
    std::function<double(const rt::fb::Plan &kind, uint32_t program, const rt::InstructionView &instruction)>;

// Costs on plainMachine() (InstructionCosts.h). They are only for comparing, and not a prediction of seconds.
InstructionCost plainCosts(const rt::fb::Plan &plan);

// A run of a body on the first stream. It is one call, without the bodies that it calls.
struct BodySpan {
  std::string program;
  int64_t microBatch = 0;
  double start = 0, end = 0, busy = 0; // busy: sum of its instructions
};

// The run of one instruction on a stream.
struct StreamSpan {
  unsigned stream = 0;
  double start = 0, end = 0;
  uint32_t program = 0, instruction = 0;
  int64_t microBatch = 0;
  std::string name; // of a measured span, which has no instruction number
};

struct KindTimeline {
  std::string kind;
  std::vector<BodySpan> bodies; // in order; bodies without cost are left out
  double busy = 0;
  std::vector<StreamSpan> spans; // of instructions with a cost; only with TimelineDetail::Streams
};

enum class TimelineDetail { Bodies, Streams };

struct StepTimeline {
  std::vector<KindTimeline> kinds;
  double duration = 0;

  // The share of the step in which the first streams of all kinds are idle, averaged over the kinds.
  double idleShare() const;
};

// Empty if there is no such entry, or if it runs more instructions than are followed.
std::optional<StepTimeline> timelineOf(const rt::fb::Plan &plan, const std::string &entry, const InstructionCost &cost,
                                       TimelineDetail detail = TimelineDetail::Bodies);

// The task that a span belongs to, without its micro-batch: "0F" for "c0.fwd", or "U" (the update) if it belongs to no
// chunk.
std::string taskOf(const BodySpan &span);

// Draws a line for each kind, with a column for each slice of time: "0F0--|0F1--|...0B0-----|U-".
std::string drawTimeline(const StepTimeline &timeline, size_t columns);

} // namespace cleave::plan

#endif

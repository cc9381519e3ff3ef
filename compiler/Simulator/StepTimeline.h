// When each body of a step runs, on given costs: the plan's own instructions, streams, events and transfers, as they
// lie in the file. It draws the schedule of a pipeline and tells its idle time from what will run, not from the list
// that the plan was made of.
//
// The order is EntryGraph's; a send and its receive happen together, when both ranks have come to them.
#ifndef CLEAVE_COMPILER_SIMULATOR_STEPTIMELINE_H
#define CLEAVE_COMPILER_SIMULATOR_STEPTIMELINE_H

#include "runtime/plan/InstructionView.h"
#include "runtime/plan/PlanReader.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cleave::plan {

// Of one instruction of a program, in any unit.
using InstructionCost =
    std::function<double(const rt::fb::Plan &kind, uint32_t program, const rt::InstructionView &instruction)>;

// Those of no machine in particular (InstructionCosts.h), in seconds that order things and mean nothing else.
InstructionCost plainCosts(const rt::fb::Plan &plan);

// A run of a body on the first stream: one call, without what it calls.
struct BodySpan {
  std::string program;
  int64_t microBatch = 0;
  double start = 0, end = 0, busy = 0; // busy: of its instructions
};

// A span of one instruction on a stream.
struct StreamSpan {
  unsigned stream = 0;
  double start = 0, end = 0;
  uint32_t program = 0, instruction = 0;
  int64_t microBatch = 0;
  std::string name; // of a measured one, which is not known by its number
};

struct KindTimeline {
  std::string kind;
  std::vector<BodySpan> bodies; // in order; those without cost are left out
  double busy = 0;
  std::vector<StreamSpan> spans; // of instructions with a cost; only where they are asked for
};

enum class TimelineDetail { Bodies, Streams };

struct StepTimeline {
  std::vector<KindTimeline> kinds;
  double duration = 0;

  // The part of the step in which the first streams of all kinds together do nothing.
  double idleShare() const;
};

// None where there is no such entry, or it runs more than is looked at.
std::optional<StepTimeline> timelineOf(const rt::fb::Plan &plan, const std::string &entry, const InstructionCost &cost,
                                       TimelineDetail detail = TimelineDetail::Bodies);

// What a span is part of, without its micro-batch: "0F" of "c0.fwd"; "U" of what is no chunk's, the update.
std::string taskOf(const BodySpan &span);

// A line for each kind, with a column for a slice of time: "0F0--|0F1--|...0B0-----|U-".
std::string drawTimeline(const StepTimeline &timeline, size_t columns);

} // namespace cleave::plan

#endif

// Makes lists for zero bubble on any costs, by running the pipeline. Whenever a rank is free, it starts I if the
// gradient has arrived; else F if the activation has arrived and a frame is free; else W to fill the gap; else it waits
// for the next arrival. For two choices there is no single right answer, so each is tried in several ways:
//
//   - a W that takes longer than the wait for the next known arrival: start it if the wait is at least a given part of
//     it
//   - F or I first, if both have arrived
//
// The caller takes the best list. The paper's own heuristic tries such choices, too.
#ifndef CLEAVE_COMPILER_PIPELINE_ZEROBUBBLEGREEDY_H
#define CLEAVE_COMPILER_PIPELINE_ZEROBUBBLEGREEDY_H

#include "compiler/Pipeline/Schedules.h"

namespace cleave::pipeline {

// Returns schedules without updates. No rank has more than `frames` micro-batches alive.
std::vector<Schedule> greedyZeroBubbles(const ScheduleRequest &request, int frames);

} // namespace cleave::pipeline

#endif

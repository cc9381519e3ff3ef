// Lists for zero bubble on any costs, made by running the pipeline: whenever a rank is free it takes I if the gradient
// has come; else F if the activation has come and a frame is free; else W to fill the gap; else it waits for what comes
// next. Two choices have no one right answer, so each is tried in several ways:
//
//   - a W that takes longer than the wait for what is known to come: start it if the wait is at least a given part of
//     it
//   - F or I first, when both have come
//
// The caller takes the best list. The paper's own heuristic tries such choices too.
#ifndef CLEAVE_COMPILER_PIPELINE_ZEROBUBBLEGREEDY_H
#define CLEAVE_COMPILER_PIPELINE_ZEROBUBBLEGREEDY_H

#include "compiler/Pipeline/Schedules.h"

namespace cleave::pipeline {

// Without updates. No rank has more than `frames` micro-batches alive.
std::vector<Schedule> greedyZeroBubbles(const ScheduleRequest &request, int frames);

} // namespace cleave::pipeline

#endif

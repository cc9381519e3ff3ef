// Folds a list of tasks, so that its length does not grow with the number of micro-batches: the part of a schedule in
// which the pipe is full repeats itself with later micro-batches. For example, 1F1B of rank 0 of 2, with eight
// micro-batches, folds into four runs:
//
//   0F0        twice, the second time with a micro-batch 1 later
//   0B0 0F2    6 times
//   0B6        twice
//   update     once
//
// `build-programs` can call a run's tasks in a loop whose frames follow the micro-batch
// (compiler/Planning/Verify/Rationale.md, "Bodies, frames and events").
#ifndef CLEAVE_COMPILER_PIPELINE_FOLDING_H
#define CLEAVE_COMPILER_PIPELINE_FOLDING_H

#include "compiler/Pipeline/Schedule.h"

namespace cleave::pipeline {

struct Run {
  std::vector<Task> tasks; // of the first repetition
  int times = 1;
  int stride = 0; // micro-batches from one repetition to the next
};

// Finds repetitions of up to `longest` tasks. At each position, the one that covers the most tasks is taken.
std::vector<Run> fold(const std::vector<Task> &tasks, int longest = 512);

} // namespace cleave::pipeline

#endif

// Formulas of the papers for each schedule. Tests compare plans and simulations with them. F, I and W are the costs of
// one chunk, which are equal for all chunks. Transfers and updates cost nothing.
//
//   naive             (p-1) m (F+I+W)      of a step alone
//   gpipe, 1f1b,
//   eager-1f1b        (p-1)(F+I+W)         of a step alone: the share (p-1)/(m+p-1)
//   interleaved-1f1b  (p-1)(F+I+W)         of a step alone; a chunk is 1/v of a rank's work, so 1/v of the time of 1f1b
//   zb-h1             (p-1)(F+I-W)         of a step alone, for W <= F and W <= I, m >= p
//   zb-h2             (p-1)(F+I-2W)        of steps in a row, for W <= F, W <= I and 2W <= F+I, m >= 2p-1
//   dualpipe-v        (p-1)(F+I-W)         of a step alone, for W <= F = I. DeepSeek: (p-1)(F&B + B - 3W), with p for
//                                          their PP/2 and B for I+W, and counts an overlapped pair F&B as one task.
//                                          Here they are two tasks, and the first does not wait for the second.
#ifndef CLEAVE_TEST_COMPILER_PIPELINE_FORMULAS_H
#define CLEAVE_TEST_COMPILER_PIPELINE_FORMULAS_H

#include "compiler/Pipeline/Schedules.h"

namespace cleave::pipeline {

// The idle share. No value if the request is outside of the formula's domain.
std::optional<double> expectedIdleShare(const std::string &name, const ScheduleRequest &request);

// True if the formula is for steps in a row (Simulate.h).
bool isExpectedInARow(const std::string &name);

// The largest number of frames of residuals that a rank keeps, for all its chunks together.
std::optional<int> expectedFrames(const std::string &name, const ScheduleRequest &request, int rank);

} // namespace cleave::pipeline

#endif

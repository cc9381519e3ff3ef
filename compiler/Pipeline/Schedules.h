// The schedules that Cleave knows, one small file each. There are p ranks, m micro-batches, and v chunks for each rank.
// F, B, W are the costs of a forward pass, of the gradients of the inputs, and of those of the weights. Frames: the
// most micro-batches whose residuals a rank keeps. Idle: the time that a rank waits in a step.
//
//   name              chunks  idle of a rank       frames              needs
//   naive             1       (p-1) m (F+B+W)      1                              Naive.cpp
//   gpipe             1       (p-1)(F+B+W)         m                              GPipe.cpp
//   1f1b              1       (p-1)(F+B+W)         min(m, p - rank)               OneForwardOneBackward.cpp
//   eager-1f1b        1       (p-1)(F+B+W)         min(m, 2(p - rank) - 1)        OneForwardOneBackward.cpp
//   interleaved-1f1b  v >= 2  (p-1)(F+B+W)/v       (v+1)p - 1 of 1/v  p divides m Interleaved.cpp
//   zb-h1             1       (p-1)(F+B-W)         p                              ZeroBubble.cpp
//   zb-h2             1       (p-1)(F+B-2W)        2p - 1                         ZeroBubble.cpp
//   dualpipe-v        2       see Formulas.h       2p + 1 of 1/2      m >= 2p     DualPipeV.cpp
//
// If messages take time d, 1f1b idles for 2d(p-1)/p more with each micro-batch. eager-1f1b hides d <= (F+B+W)/2.
//
// Narayanan et al. 2019, 2021 (1F1B, interleaved); Zhuang et al. 2023, arXiv 2211.05322 (eager 1F1B); Huang et al. 2019
// (GPipe); Qi et al. 2023, arXiv 2401.10241 (zero bubble); DeepSeek-AI 2024, arXiv 2412.19437, and its form cut in half
// (DualPipeV).
//
// All of them place chunk c on rank c mod p, except dualpipe-v (placeAsV). A user's own schedule comes from a file
// (ScheduleFile.h).
#ifndef CLEAVE_COMPILER_PIPELINE_SCHEDULES_H
#define CLEAVE_COMPILER_PIPELINE_SCHEDULES_H

#include "compiler/Pipeline/Result.h"
#include "compiler/Pipeline/Schedule.h"
#include "compiler/Pipeline/Simulate.h"

namespace cleave::pipeline {

struct ScheduleRequest {
  int ranks = 1;
  int microBatches = 1;
  int chunksPerRank = 0; // 0: the least number that the schedule allows
  Costs costs;           // zb-h1 and zb-h2 depend on them
};

struct ScheduleKind {
  const char *name;
  const char *summary;
  int leastChunks, mostChunks; // for each rank
  Result<Schedule> (*make)(const ScheduleRequest &);
};

const std::vector<ScheduleKind> &scheduleKinds();

// Returns the schedule of that name, which has passed checkSchedule() for the chain of chunks. Errors say what would
// work.
Result<Schedule> makeSchedule(const std::string &name, ScheduleRequest request);

// Make one kind of schedule each. makeSchedule() calls them with a request that fits their number of chunks.
Result<Schedule> makeNaive(const ScheduleRequest &request);
Result<Schedule> makeGPipe(const ScheduleRequest &request);
Result<Schedule> makeOneForwardOneBackward(const ScheduleRequest &request);
Result<Schedule> makeEagerOneForwardOneBackward(const ScheduleRequest &request);
Result<Schedule> makeInterleaved(const ScheduleRequest &request);
Result<Schedule> makeZeroBubbleH1(const ScheduleRequest &request);
Result<Schedule> makeZeroBubbleH2(const ScheduleRequest &request);
Result<Schedule> makeDualPipeV(const ScheduleRequest &request);

} // namespace cleave::pipeline

#endif

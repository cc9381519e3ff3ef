// Lists what each rank issues in one step, in order: its tasks, with the sends and receives between them.
//
// A transfer comes directly after the task that makes its value, on an idealized clock on which every task takes one
// unit of time (Transfers.h): at the sender after the producer, at the receiver before the first task that begins
// later. So a receive is issued ahead of its consumer if the schedule has time for it. All ranks issue transfers in one
// order, which cannot deadlock. 1F1B on two ranks (s: send, r: receive of the activation or gradient of a micro-batch):
//
//   rank 0   0F0 s0 0F1 s1 r0 0B0 0F2 s2 r1 0B1 ...
//   rank 1   r0 1F0 r1 1B0 s0 1F1 1B1 s1 r2 1F2 ...
#ifndef CLEAVE_COMPILER_PIPELINE_ITEMS_H
#define CLEAVE_COMPILER_PIPELINE_ITEMS_H

#include "compiler/Pipeline/Schedule.h"

#include <vector>

namespace cleave::pipeline {

enum class ItemKind { Run, Send, Receive };

struct Item {
  ItemKind kind = ItemKind::Run;
  Task task;             // the task that runs, or the producer of a transfer
  int edge = -1;         // of a transfer: its edge of the chunk graph
  bool gradient = false; // of a transfer: it carries the edge's gradient
  int peer = -1;         // rank
  int microBatch() const { return task.microBatch; }
};

// Returns the items of each rank. The schedule must have passed checkSchedule(). Updates are left out: they end each
// list.
std::vector<std::vector<Item>> itemsOf(const Schedule &schedule, const ChunkGraph &graph);

} // namespace cleave::pipeline

#endif

// Reads a user's own schedule from a text file. docs/schedules.md describes these files for users.
//
//   # two ranks, two micro-batches         a comment goes to the end of its line
//   rank 0: 0F0 0F1 0B0 0B1                tasks, separated by blanks or commas: <chunk><F|B|I|W><micro-batch>
//   rank 1: 1F0 1B0 1F1
//   rank 1: 1B1                            continues the list of rank 1
//
// Without `rank N:`, each line that has a task is the list of the next rank. So the files that PyTorch's
// torch.distributed.pipelining writes with `compute_only` are read as they are. A file with both forms is an error. The
// numbers of chunks and micro-batches, and the rank of each chunk, follow from the tasks. Updates are not written: each
// rank ends with one.
#ifndef CLEAVE_COMPILER_PIPELINE_SCHEDULEFILE_H
#define CLEAVE_COMPILER_PIPELINE_SCHEDULEFILE_H

#include "compiler/Pipeline/Result.h"
#include "compiler/Pipeline/Schedule.h"

namespace cleave::pipeline {

// Numbers that are given elsewhere, and that the file must have, too; 0: any number.
struct ScheduleLimits {
  int ranks = 0, microBatches = 0;
};

// `name` comes before the line in each error: "my.schedule:3: ...". A schedule that is returned has passed
// checkSchedule() on `graph`, or, if that is null, on the chain of its chunks.
Result<Schedule> parseSchedule(const std::string &name, const std::string &text, ScheduleLimits limits = {},
                               const ChunkGraph *graph = nullptr);

} // namespace cleave::pipeline

#endif

// What one rank of a pipeline calls in a step, and the frames of the values that cross its calls. No MLIR here.
//
// A *stage buffer* is the memory for one value that crosses calls: a residual, an activation or a gradient that is sent
// or received, or one that goes from chunk to chunk on the rank itself. Micro-batch i has its own frame, i modulo their
// number, which is how many are alive at a time in the order of the list; the value is alive from the call that writes
// it to the last that reads it. One more frame of what is sent lets the next one be made while it is under way. What is
// received has a frame from the time on when the second task before its first reader begins, so that it can be under
// way while two tasks compute: a receive waits for nothing but its frame.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_STAGELISTS_H
#define CLEAVE_COMPILER_PLANNING_BUILD_STAGELISTS_H

#include "compiler/Pipeline/Folding.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace cleave::plan {

struct StageCall {
  std::string program;
  int microBatch = 0;
};

// What a program does with stage buffers.
struct StageBufferUses {
  std::vector<std::string> reads, writes;
};

struct StageBuffer {
  int frames = 1;
  std::set<std::string> firstReaders, lastReaders; // programs
};

// Stage buffers that some program sends away, those that some program receives, and these programs.
struct Transferred {
  std::set<std::string> sent, received, programs;
};

std::map<std::string, StageBuffer> stageBuffersOf(const std::vector<StageCall> &calls,
                                                  const std::map<std::string, StageBufferUses> &uses,
                                                  const Transferred &transferred, int microBatches);

// Calls as plans have them: `times` micro-batches from `first` on, each `stride` after the one before.
struct FoldedCall {
  std::string program;
  int times = 1, first = 0, stride = 1;
};
// Lists that are called again and again are programs of their own, "loop.N", whose calls count from their caller's
// micro-batch.
struct FoldedCalls {
  std::vector<FoldedCall> calls;
  std::map<std::string, std::vector<FoldedCall>> loops;
};
FoldedCalls foldCalls(const std::vector<StageCall> &calls);

} // namespace cleave::plan

#endif

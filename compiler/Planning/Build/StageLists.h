// Lists the calls of one rank of a pipeline in a step, and counts the frames of the values that cross calls. No MLIR
// here.
//
// A *stage buffer* is the memory for one value that crosses calls: a residual, an activation or a gradient that is sent
// or received, or a value that goes from chunk to chunk on one rank. Micro-batch i uses frame i modulo the number of
// frames, which is how many of these values are alive at a time in the order of the list. A value is alive from the
// call that writes it to the last call that reads it. A sent value has one more frame, so that the next one can be made
// during the transfer. A received value has its frame from the beginning of the second task before its first reader on,
// so that the transfer can take as long as two tasks: a receive waits only for its frame.
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

// The stage buffers that a program reads and writes.
struct StageBufferUses {
  std::vector<std::string> reads, writes;
};

struct StageBuffer {
  int frames = 1;
  std::set<std::string> firstReaders, lastReaders; // programs
};

// The stage buffers that some program sends, those that some program receives, and these programs.
struct Transferred {
  std::set<std::string> sent, received, programs;
};

std::map<std::string, StageBuffer> stageBuffersOf(const std::vector<StageCall> &calls,
                                                  const std::map<std::string, StageBufferUses> &uses,
                                                  const Transferred &transferred, int microBatches);

// A call as plans have it: `times` micro-batches from `first` on, each `stride` after the one before.
struct FoldedCall {
  std::string program;
  int times = 1, first = 0, stride = 1;
};
// A list that is called several times is a program of its own, "loop.N". Its calls count from their caller's
// micro-batch.
struct FoldedCalls {
  std::vector<FoldedCall> calls;
  std::map<std::string, std::vector<FoldedCall>> loops;
};
FoldedCalls foldCalls(const std::vector<StageCall> &calls);

} // namespace cleave::plan

#endif

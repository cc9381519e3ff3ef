// A schedule: for each pipeline rank, the list of tasks that it runs in one training step, in this order.
//
// The model is cut into chunks 0, 1, 2 ... of its forward graph. Each chunk belongs to one pipeline rank; a rank may
// have several. The step has micro-batches 0 ... M-1. One entry of a list is a *task*: an action on one chunk with one
// micro-batch. Two ranks of one chunk each, three micro-batches, 1F1B:
//
//   rank 0   0F0 0F1 0B0 0F2 0B1 0B2 update
//   rank 1   1F0 1B0 1F1 1B1 1F2 1B2 update
//
// A task is written <chunk><letter><micro-batch>. Schedules are plain values: they know no program, no device and no
// MLIR. `build-programs` turns the lists into calls; sends and receives follow from the lists and the cut
// (Transfers.h).
#ifndef CLEAVE_COMPILER_PIPELINE_SCHEDULE_H
#define CLEAVE_COMPILER_PIPELINE_SCHEDULE_H

#include <string>
#include <vector>

namespace cleave::pipeline {

enum class Action {
  Forward,        // F
  Backward,       // B: gradients of the inputs and of the weights
  BackwardInput,  // I: gradients of the inputs, which the previous chunks wait for
  BackwardWeight, // W: gradients of the weights, which only the update waits for
  Update,         // once for each rank, after everything else
};

struct Task {
  Action action = Action::Forward;
  int chunk = 0;      // -1 for an update, which is of all chunks of its rank
  int microBatch = 0; // -1 for an update

  static Task update() { return {Action::Update, -1, -1}; }
};

inline bool operator==(const Task &a, const Task &b) {
  return a.action == b.action && a.chunk == b.chunk && a.microBatch == b.microBatch;
}

// "2F0", or "update".
std::string toString(const Task &task);

struct Schedule {
  std::string name; // "1f1b"
  int microBatches = 0;
  std::vector<int> rankOfChunk;
  std::vector<std::vector<Task>> ranks;

  int numRanks() const { return static_cast<int>(ranks.size()); }
  int numChunks() const { return static_cast<int>(rankOfChunk.size()); }
};

// Returns a line for each rank.
std::string toString(const Schedule &schedule);

// What flows between chunks. An edge goes from a chunk to each later one that uses a value of it, over any distance: a
// skip connection goes directly to its user. If the edge carries a gradient, the backward task of `from` waits for that
// of `to`.
struct ChunkEdge {
  int from = 0, to = 0; // from < to
  bool gradient = true; // false: integers, or nothing before this edge is trained
};

struct ChunkGraph {
  int chunks = 0;
  std::vector<ChunkEdge> edges;

  // 0 -> 1 -> 2 -> ...
  static ChunkGraph chain(int chunks);
};

// The placements that schedules use. placeInTurn: chunk c is on rank c mod ranks. placeAsV: each rank has two chunks,
// down the ranks and up again, so that the last chunk is on rank 0.
std::vector<int> placeInTurn(int ranks, int chunksPerRank);
std::vector<int> placeAsV(int ranks);

} // namespace cleave::pipeline

#endif

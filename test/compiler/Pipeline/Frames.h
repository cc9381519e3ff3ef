// The number of frames that values between chunks need: the number of micro-batches for which each value exists at the
// same time, when the schedule runs as simulated (Simulate.h). `framesAlive` counts those of residuals, without a
// simulation.
//
//   activation, sender     from its computation until it has arrived
//   activation, receiver   from its arrival until the weights' gradients of the chunk are computed: the backward pass
//                          may read it
//   gradient, sender       from its computation until it has arrived
//   gradient, receiver     from its arrival until the weights' gradients of the chunk are computed
//   between I and W        the values that a split backward pass keeps for its second half
//
// A chunk computes micro-batches in ascending order. So values begin and end in that order, and with n frames
// micro-batch i can use frame i mod n. With the number computed here, no task and no transfer waits for a frame at the
// given costs. With fewer frames they may wait, and checkRendezvous (Rendezvous.h) says whether they deadlock.
#ifndef CLEAVE_TEST_COMPILER_PIPELINE_FRAMES_H
#define CLEAVE_TEST_COMPILER_PIPELINE_FRAMES_H

#include "compiler/Pipeline/Simulate.h"

namespace cleave::pipeline {

struct EdgeFrames {
  int sentActivations = 0, receivedActivations = 0; // 0: both chunks are on one rank
  int sentGradients = 0, receivedGradients = 0;     // 0: the same, or there is no gradient
};

struct CrossingFrames {
  std::vector<EdgeFrames> ofEdge;
  std::vector<int> betweenHalves; // of each chunk; 0: its backward pass is not split
};

CrossingFrames crossingFrames(const Schedule &schedule, const ChunkGraph &graph, const Costs &costs);

// The largest number of micro-batches whose residuals are alive at one time, from F to B or W: for each chunk, and for
// each rank over all its chunks together. It depends only on the lists, and not on costs.
struct FramesAlive {
  std::vector<int> ofChunk, ofRank;
};
FramesAlive framesAlive(const Schedule &schedule);

} // namespace cleave::pipeline

#endif

// How many frames the values that cross chunks need: for how many micro-batches each is there at a time, when the
// schedule runs as simulated (Simulate.h). Residuals are `framesAlive`'s, which needs no simulation.
//
//   activation, sender     from its making until it has arrived
//   activation, receiver   from its arrival until the weights' gradients of the chunk are made: the backward pass may
//                          read it
//   gradient, sender       from its making until it has arrived
//   gradient, receiver     from its arrival until the weights' gradients of the chunk are made
//   between I and W        what a split backward pass keeps for its second half
//
// A chunk takes micro-batches in ascending order, so values come and go in that order, and micro-batch i can have frame
// i mod n of n. With these many frames no task and no transfer waits for a frame at the given costs; with fewer they
// may wait, and checkRendezvous (Rendezvous.h) says whether they deadlock.
#ifndef CLEAVE_TEST_COMPILER_PIPELINE_FRAMES_H
#define CLEAVE_TEST_COMPILER_PIPELINE_FRAMES_H

#include "compiler/Pipeline/Simulate.h"

namespace cleave::pipeline {

struct EdgeFrames {
  int sentActivations = 0, receivedActivations = 0; // 0: both chunks are on one rank
  int sentGradients = 0, receivedGradients = 0;     // 0: or there is none
};

struct CrossingFrames {
  std::vector<EdgeFrames> ofEdge;
  std::vector<int> betweenHalves; // of each chunk; 0: its backward pass is not split
};

CrossingFrames crossingFrames(const Schedule &schedule, const ChunkGraph &graph, const Costs &costs);

// How many micro-batches' residuals are alive at a time, at most: from F to B or W. For each chunk, and for each rank
// the most of all its chunks together. This is of the lists alone; no cost changes it.
struct FramesAlive {
  std::vector<int> ofChunk, ofRank;
};
FramesAlive framesAlive(const Schedule &schedule);

} // namespace cleave::pipeline

#endif

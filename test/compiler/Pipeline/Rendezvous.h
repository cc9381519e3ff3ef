// Whether the sends and receives of a schedule deadlock, found by running its lists of tasks and its streams of
// transfers against each other, without time. Transfers.h argues that they do not; where there are too few frames they
// do, and the error says who waits for whom.
#ifndef CLEAVE_TEST_COMPILER_PIPELINE_RENDEZVOUS_H
#define CLEAVE_TEST_COMPILER_PIPELINE_RENDEZVOUS_H

#include "compiler/Pipeline/Result.h"
#include "compiler/Pipeline/Transfers.h"

namespace cleave::pipeline {

// Streams of a rank that transfers run on.
enum class PeerStreams {
  One,          // sends and receives in turn
  SendReceive,  // one for sends, one for receives
  PerDirection, // four: activations and gradients, out and in; plans have these
};

// How many micro-batches of a transferred value there is room for, on each side; 0: for all. The producer waits until
// the frame that it overwrites is sent, a receive until the frame is consumed.
struct TransferFrames {
  int sent = 0, received = 0;
};

// The error names who waits for whom.
[[nodiscard]] std::optional<Problem> checkRendezvous(const Schedule &schedule, const ChunkGraph &graph,
                                                     PeerStreams streams, TransferFrames frames = {});

} // namespace cleave::pipeline

#endif

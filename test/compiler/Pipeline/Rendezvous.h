// Finds out whether the sends and receives of a schedule deadlock, by running its lists of tasks and its streams of
// transfers together, without time. Transfers.h argues that they do not. With too few frames they do, and the error
// says which rank waits for which.
#ifndef CLEAVE_TEST_COMPILER_PIPELINE_RENDEZVOUS_H
#define CLEAVE_TEST_COMPILER_PIPELINE_RENDEZVOUS_H

#include "compiler/Pipeline/Result.h"
#include "compiler/Pipeline/Transfers.h"

namespace cleave::pipeline {

// The streams of a rank on which transfers run.
enum class PeerStreams {
  One,          // one for sends and receives
  SendReceive,  // one for sends, one for receives
  PerDirection, // four: activations and gradients, out and in, as in plans
};

// The number of micro-batches of a transferred value for which each side has memory; 0: for all. The producer waits
// until the frame that it overwrites is sent. A receive waits until the frame is consumed.
struct TransferFrames {
  int sent = 0, received = 0;
};

// Returns nothing if there is no deadlock. The error names who waits for whom.
[[nodiscard]] std::optional<Problem> checkRendezvous(const Schedule &schedule, const ChunkGraph &graph,
                                                     PeerStreams streams, TransferFrames frames = {});

} // namespace cleave::pipeline

#endif

// The streams and events of a plan, as streams and events of the driver.
//
// One thread enqueues all streams, in the plan's issue order, so that an event of the plan means to the driver what it
// means to the plan: a wait is for the last record that was enqueued before it. Nothing else orders streams within a
// run. A run begins with a fork from the first stream, on which the host's copies are in line, and ends with a join
// into it; calls of bodies are neither.
//
//   upload, fork, | compute: k0  record e0          k2        | join, download
//                 | reduce:         wait e0   all-reduce      |
//
// Between fork and join the same calls may be captured: streams that wait for the fork's event take part in the capture.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_CUDASTREAMS_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_CUDASTREAMS_H

#include "runtime/device/cuda/Driver.h"

#include <vector>

namespace cleave::rt {

class CudaStreams {
public:
  // Makes the first stream; the context is current, as in all that follows.
  Status open(const cuda::Driver &driver);
  void close();

  cuda::Handle main() const { return streams_.empty() ? nullptr : streams_[0]; }
  // Stream `number` of the plan. Made when it is asked for first, which is not between fork and join.
  Status at(unsigned number, cuda::Handle *stream);

  unsigned makeEvent();
  // The driver's event is made when a record or a wait is bound.
  Status prepare(unsigned event);
  Status record(unsigned event, cuda::Handle stream);
  // Of an event that this run has not recorded, there is nothing to wait for.
  Status wait(unsigned event, cuda::Handle stream);

  Status fork();
  Status join();
  // Waits for all streams.
  Status synchronize();

private:
  struct Event {
    cuda::Handle handle = nullptr;
    uint64_t run = 0; // that recorded it last; 0: none
  };
  const cuda::Driver *driver_ = nullptr;
  std::vector<cuda::Handle> streams_;
  std::vector<Event> events_;
  std::vector<unsigned> ends_; // the event that joins each stream; of the first one: that of the fork
  uint64_t run_ = 0;
};

} // namespace cleave::rt

#endif

// The streams and events of a plan, as streams and events of the driver.
//
// One thread enqueues the work of all streams in the plan's issue order. So an event has the same meaning for the
// driver and for the plan: a wait is for the last record that was enqueued before it. Only NCCL's operations are ordered
// besides (NcclWorld.h). A run begins with a fork from the first stream, which also does the host's copies, and ends
// with a join into it. Calls of bodies neither fork nor join.
//
// Streams other than the first, which computes, have a higher priority: the few blocks of a collective begin before the
// blocks of a kernel that fills the GPU (as the streams of PyTorch's FSDP2 do).
//
//   upload, fork, | compute: k0  record e0          k2        | join, download
//                 | reduce:         wait e0   all-reduce      |
//
// The calls between fork and join can also be captured: streams that wait for the fork's event take part in the
// capture.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_CUDASTREAMS_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_CUDASTREAMS_H

#include "runtime/device/cuda/Driver.h"

#include <vector>

namespace cleave::rt {

class CudaStreams {
public:
  // Makes the first stream. The context must be current, here and in all other calls.
  Status open(const cuda::Driver &driver);
  void close();

  cuda::Handle main() const { return streams_.empty() ? nullptr : streams_[0]; }
  // Returns stream `number` of the plan. It is made when it is first asked for, which must not be between fork and
  // join.
  Status at(unsigned number, cuda::Handle *stream);

  unsigned makeEvent();
  // Makes the driver's event. It is called when a record or a wait is bound.
  Status prepare(unsigned event);
  Status record(unsigned event, cuda::Handle stream);
  // Does nothing if this run has not recorded the event.
  Status wait(unsigned event, cuda::Handle stream);

  Status fork();
  Status join();
  // Waits for all streams.
  Status synchronize();

private:
  struct Event {
    cuda::Handle handle = nullptr;
    uint64_t run = 0; // the run that recorded it last; 0: none
  };
  const cuda::Driver *driver_ = nullptr;
  std::vector<cuda::Handle> streams_;
  std::vector<Event> events_;
  std::vector<unsigned> ends_; // the event that joins each stream; for the first stream, the event of the fork
  uint64_t run_ = 0;
};

} // namespace cleave::rt

#endif

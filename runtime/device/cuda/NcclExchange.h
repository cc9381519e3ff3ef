// Bytes of the host that cross from rank to rank by NCCL, a piece at a time: pinned memory to the GPU, ncclSend and
// ncclRecv in one group on a stream of their own, and back to pinned memory.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_NCCLEXCHANGE_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_NCCLEXCHANGE_H

#include "runtime/device/cuda/Driver.h"

#include <string>

namespace cleave::rt {

class NcclExchange {
public:
  static constexpr size_t kPieceBytes = size_t{4} << 20;

  NcclExchange() = default;
  NcclExchange(const NcclExchange &) = delete;
  NcclExchange &operator=(const NcclExchange &) = delete;
  // Waits for what is under way: a communicator of which somebody is lost must have been aborted.
  ~NcclExchange();

  // Takes the rank's GPU (ChosenDevice.h) and memory on it.
  Status open(const std::string &target, int rank);
  // Once it is open.
  const cuda::Driver &driver() const { return *driver_; }
  int device() const { return device_; }
  cuda::Handle context() const { return context_; }
  // Makes the GPU this thread's, which is one of our own.
  Status enter() const;

  // What goes and what has come: kPieceBytes each, of the caller between two pieces.
  std::byte *outgoing() const { return static_cast<std::byte *>(pinned_); }
  std::byte *incoming() const { return outgoing() + kPieceBytes; }
  // -1: no such side.
  Status begin(const cuda::Nccl &nccl, cuda::Handle comm, int to, size_t sendBytes, int from, size_t receiveBytes);
  Status poll(bool *isDone) const;

private:
  Status enqueue(const cuda::Nccl &nccl, cuda::Handle comm, int to, size_t sendBytes, int from, size_t receiveBytes);

  const cuda::Driver *driver_ = nullptr;
  int device_ = 0;
  cuda::Handle context_ = nullptr, stream_ = nullptr;
  void *pinned_ = nullptr;
  cuda::Pointer memory_ = 0; // as in pinned_: what goes, then what comes
};

} // namespace cleave::rt

#endif

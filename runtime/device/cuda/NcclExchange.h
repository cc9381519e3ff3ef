// Moves bytes of the host from rank to rank by NCCL, one piece at a time: from pinned memory to the GPU, by ncclSend
// and ncclRecv (in one group, on a stream of their own), and back to pinned memory.
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
  // Waits for the piece under way. If a rank is lost, the communicator must have been aborted before.
  ~NcclExchange();

  // Chooses the rank's GPU (ChosenDevice.h) and allocates memory on it.
  Status open(const std::string &target, int rank);
  // Valid after open().
  const cuda::Driver &driver() const { return *driver_; }
  int device() const { return device_; }
  cuda::Handle context() const { return context_; }
  // Makes the GPU's context current on this thread, which must be a thread of Cleave.
  Status enter() const;

  // The bytes to send and the bytes received, kPieceBytes each. The caller may use them only between two pieces.
  std::byte *outgoing() const { return static_cast<std::byte *>(pinned_); }
  std::byte *incoming() const { return outgoing() + kPieceBytes; }
  // A rank of -1 means that nothing is sent, or received.
  Status begin(const cuda::Nccl &nccl, cuda::Handle comm, int to, size_t sendBytes, int from, size_t receiveBytes);
  Status poll(bool *isDone) const;

private:
  Status enqueue(const cuda::Nccl &nccl, cuda::Handle comm, int to, size_t sendBytes, int from, size_t receiveBytes);

  const cuda::Driver *driver_ = nullptr;
  int device_ = 0;
  cuda::Handle context_ = nullptr, stream_ = nullptr;
  void *pinned_ = nullptr;
  cuda::Pointer memory_ = 0; // like pinned_: first the bytes to send, then those received
};

} // namespace cleave::rt

#endif

// CudaDevice: collectives, sends and receives through the host's memory.
//
// All exchanges of a stream use the same pinned memory. The copy of one action to the device may not have ended when
// the next action begins. A copy from the device is enqueued after it on the same stream. A receive writes to the
// memory at once, so it first waits for the stream.
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/plan/KernelOperands.h"

#include <algorithm>

namespace cleave::rt {

using cuda::Handle;

namespace {

using Pinned = CudaDevice::Pinned;

class CollectiveAction : public Action {
public:
  CollectiveAction(CudaDevice &device, Handle stream, const CollectiveRequest &request, const Pinned *pinned)
      : device_(device), stream_(stream), request_(request), pinned_(pinned) {}
  Status run(const Frames &frames, uint32_t) override {
    if (request_.group.size() == 1)
      return Status::ok();
    size_t bytes = request_.data.bytes;
    std::byte *pinned = pinned_->data;
    std::byte *data = request_.data.at(frames);
    // Only what the plan declares: another stream may read the data of a broadcast's root at the same time.
    if (reads(request_.access))
      CLEAVE_TRY(device_.move(pinned, data, bytes, stream_));
    CLEAVE_TRY(device_.waitFor(stream_)); // the last copy from the pinned memory must have ended, too
    RingData ring{pinned, pinned + bytes, request_.count, request_.dtype, request_.reduction};
    CLEAVE_TRY(runRing(request_, ring));
    return writes(request_.access) ? device_.move(data, pinned, bytes, stream_) : Status::ok();
  }

private:
  CudaDevice &device_;
  Handle stream_;
  CollectiveRequest request_;
  const Pinned *pinned_; // for the data, then the staging
};

class TransferAction : public Action {
public:
  TransferAction(CudaDevice &device, Handle stream, const TransferRequest &request, const Pinned *pinned)
      : device_(device), stream_(stream), request_(request), pinned_(pinned) {}
  Status run(const Frames &frames, uint32_t) override {
    std::byte *pinned = pinned_->data;
    if (request_.opcode == Opcode::Recv) {
      CLEAVE_TRY(device_.waitFor(stream_)); // the last copy from the pinned memory must have ended
      CLEAVE_TRY(runTransfer(request_, pinned));
      return device_.move(request_.data.at(frames), pinned, request_.data.bytes, stream_);
    }
    CLEAVE_TRY(device_.move(pinned, request_.data.at(frames), request_.data.bytes, stream_));
    CLEAVE_TRY(device_.waitFor(stream_));
    return runTransfer(request_, pinned);
  }

private:
  CudaDevice &device_;
  Handle stream_;
  TransferRequest request_;
  const Pinned *pinned_;
};

} // namespace

// Replaces memory that is too small. Actions read its address only when they run.
Status CudaDevice::reservePinned(Handle stream, size_t bytes, const Pinned **result) {
  Pinned &pinned = exchanged_[stream];
  *result = &pinned;
  if (pinned.data && pinned.bytes >= bytes)
    return Status::ok();
  CLEAVE_TRY(waitFor(stream));
  if (pinned.data)
    CLEAVE_TRY(cuda::check(driver_->hostFree(pinned.data), "cuMemFreeHost"));
  pinned = {};
  void *memory = nullptr;
  CLEAVE_TRY(cuda::check(driver_->hostAllocate(&memory, std::max<size_t>(bytes, 1), 0), "cuMemHostAlloc"));
  pinned = {static_cast<std::byte *>(memory), bytes};
  return Status::ok();
}

Status CudaDevice::exchangeCollective(const CollectiveRequest &request, Handle stream, ActionPtr *action) {
  const Pinned *pinned = nullptr;
  canCapture_ = canCapture_ && request.group.size() == 1; // the host cannot take part in a graph
  if (request.group.size() > 1)
    CLEAVE_TRY(reservePinned(stream, request.data.bytes + request.staging.bytes, &pinned));
  *action = std::make_unique<CollectiveAction>(*this, stream, request, pinned);
  return Status::ok();
}

Status CudaDevice::exchangeTransfer(const TransferRequest &request, Handle stream, ActionPtr *action) {
  canCapture_ = false;
  const Pinned *pinned = nullptr;
  CLEAVE_TRY(reservePinned(stream, request.data.bytes, &pinned));
  *action = std::make_unique<TransferAction>(*this, stream, request, pinned);
  return Status::ok();
}

} // namespace cleave::rt

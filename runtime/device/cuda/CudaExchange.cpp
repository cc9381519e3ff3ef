// CudaDevice: collectives, sends and receives through the host's memory.
//
// The pinned memory is one action's own. Its stream orders what one run leaves there and the next one writes.
#include "runtime/device/cuda/CudaDevice.h"

namespace cleave::rt {

using cuda::Handle;

namespace {

class CollectiveAction : public Action {
public:
  CollectiveAction(CudaDevice &device, Handle stream, const CollectiveRequest &request, std::byte *pinned)
      : device_(device), stream_(stream), request_(request), pinned_(pinned) {}
  Status run(const Frames &frames, uint32_t) override {
    if (request_.group.size() == 1)
      return Status::ok();
    size_t bytes = request_.data.bytes;
    CLEAVE_TRY(device_.move(pinned_, request_.data.at(frames), bytes, stream_));
    CLEAVE_TRY(device_.waitFor(stream_));
    RingData ring{pinned_, pinned_ + bytes, request_.count, request_.dtype, request_.reduction};
    CLEAVE_TRY(runRing(request_, ring));
    return device_.move(request_.data.at(frames), pinned_, bytes, stream_);
  }

private:
  CudaDevice &device_;
  Handle stream_;
  CollectiveRequest request_;
  std::byte *pinned_; // of the data, then of the staging
};

class TransferAction : public Action {
public:
  TransferAction(CudaDevice &device, Handle stream, const TransferRequest &request, std::byte *pinned)
      : device_(device), stream_(stream), request_(request), pinned_(pinned) {}
  Status run(const Frames &frames, uint32_t) override {
    if (request_.opcode == Opcode::Recv) {
      CLEAVE_TRY(device_.waitFor(stream_)); // what came last time has left the pinned memory
      CLEAVE_TRY(runTransfer(request_, pinned_));
      return device_.move(request_.data.at(frames), pinned_, request_.data.bytes, stream_);
    }
    CLEAVE_TRY(device_.move(pinned_, request_.data.at(frames), request_.data.bytes, stream_));
    CLEAVE_TRY(device_.waitFor(stream_));
    return runTransfer(request_, pinned_);
  }

private:
  CudaDevice &device_;
  Handle stream_;
  TransferRequest request_;
  std::byte *pinned_;
};

} // namespace

Status CudaDevice::exchangeCollective(const CollectiveRequest &request, Handle stream, ActionPtr *action) {
  std::byte *pinned = nullptr;
  canCapture_ = canCapture_ && request.group.size() == 1; // a graph runs without the host
  if (request.group.size() > 1)
    CLEAVE_TRY(allocate(fb::Space::host, request.data.bytes + request.staging.bytes, &pinned));
  *action = std::make_unique<CollectiveAction>(*this, stream, request, pinned);
  return Status::ok();
}

Status CudaDevice::exchangeTransfer(const TransferRequest &request, Handle stream, ActionPtr *action) {
  canCapture_ = false;
  std::byte *pinned = nullptr;
  CLEAVE_TRY(allocate(fb::Space::host, request.data.bytes, &pinned));
  *action = std::make_unique<TransferAction>(*this, stream, request, pinned);
  return Status::ok();
}

} // namespace cleave::rt

#include "runtime/device/cuda/NcclExchange.h"

#include "runtime/device/cuda/ChosenDevice.h"

namespace cleave::rt {

using cuda::check;
using cuda::checkNccl;
using cuda::Handle;
using cuda::Pointer;

namespace {

constexpr int kBytes = 1; // ncclUint8

Pointer pointerTo(const void *data) { return reinterpret_cast<Pointer>(data); }

} // namespace

Status NcclExchange::open(const std::string &target, int rank) {
  CLEAVE_TRY(cuda::openDriver(&driver_));
  CLEAVE_TRY(cuda::chooseDevice(*driver_, target, rank, &device_));
  CLEAVE_TRY(check(driver_->contextRetain(&context_, device_), "cuDevicePrimaryCtxRetain"));
  cuda::ContextScope scope(*driver_, context_);
  CLEAVE_TRY(Status(scope.status()));
  CLEAVE_TRY(check(driver_->streamCreate(&stream_, cuda::kNonBlockingStream, cuda::kLowestPriority),
                   "cuStreamCreateWithPriority"));
  CLEAVE_TRY(check(driver_->hostAllocate(&pinned_, 2 * kPieceBytes, 0), "cuMemHostAlloc"));
  return check(driver_->memoryAllocate(&memory_, 2 * kPieceBytes), "cuMemAlloc");
}

NcclExchange::~NcclExchange() {
  if (!context_)
    return;
  cuda::ContextScope scope(*driver_, context_);
  if (!scope.status().isOk())
    return;
  if (stream_) {
    driver_->streamSynchronize(stream_);
    driver_->streamDestroy(stream_);
  }
  if (memory_)
    driver_->memoryFree(memory_);
  if (pinned_)
    driver_->hostFree(pinned_);
  driver_->contextRelease(device_);
}

Status NcclExchange::enter() const { return check(driver_->contextSetCurrent(context_), "cuCtxSetCurrent"); }

Status NcclExchange::enqueue(const cuda::Nccl &nccl, Handle comm, int to, size_t sendBytes, int from,
                             size_t receiveBytes) {
  CLEAVE_TRY(checkNccl(nccl.groupStart(), "ncclGroupStart"));
  Status status;
  if (to >= 0)
    status =
        checkNccl(nccl.send(reinterpret_cast<const void *>(memory_), sendBytes, kBytes, to, comm, stream_), "ncclSend");
  if (status.isOk() && from >= 0)
    status = checkNccl(
        nccl.receive(reinterpret_cast<void *>(memory_ + kPieceBytes), receiveBytes, kBytes, from, comm, stream_),
        "ncclRecv");
  Status ended = checkNccl(nccl.groupEnd(), "ncclGroupEnd"); // also after an error: a group that has begun must end
  return status.isOk() ? ended : status;
}

Status NcclExchange::begin(const cuda::Nccl &nccl, Handle comm, int to, size_t sendBytes, int from,
                           size_t receiveBytes) {
  if (to >= 0)
    CLEAVE_TRY(check(driver_->copy(memory_, pointerTo(outgoing()), sendBytes, stream_), "cuMemcpyAsync"));
  CLEAVE_TRY(enqueue(nccl, comm, to, sendBytes, from, receiveBytes));
  if (from < 0)
    return Status::ok();
  return check(driver_->copy(pointerTo(incoming()), memory_ + kPieceBytes, receiveBytes, stream_), "cuMemcpyAsync");
}

Status NcclExchange::poll(bool *isDone) const {
  cuda::Result result = driver_->streamQuery(stream_);
  *isDone = result == 0;
  return result == cuda::kErrorNotReady ? Status::ok() : check(result, "cuStreamQuery");
}

} // namespace cleave::rt

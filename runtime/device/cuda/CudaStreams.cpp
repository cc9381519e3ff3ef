#include "runtime/device/cuda/CudaStreams.h"

namespace cleave::rt {

using cuda::check;
using cuda::Handle;

Status CudaStreams::open(const cuda::Driver &driver) {
  driver_ = &driver;
  Handle stream = nullptr;
  return at(0, &stream);
}

void CudaStreams::close() {
  for (Handle stream : streams_)
    driver_->streamSynchronize(stream);
  for (const Event &event : events_)
    if (event.handle)
      driver_->eventDestroy(event.handle);
  for (Handle stream : streams_)
    driver_->streamDestroy(stream);
  streams_.clear();
  events_.clear();
  ends_.clear();
}

Status CudaStreams::at(unsigned number, Handle *stream) {
  while (streams_.size() <= number) {
    Handle made = nullptr;
    int priority = number == 0 ? cuda::kLowestPriority : cuda::kHighPriority;
    CLEAVE_TRY(check(driver_->streamCreate(&made, cuda::kNonBlockingStream, priority), "cuStreamCreateWithPriority"));
    streams_.push_back(made);
    ends_.push_back(makeEvent());
    CLEAVE_TRY(prepare(ends_.back()));
  }
  *stream = streams_[number];
  return Status::ok();
}

unsigned CudaStreams::makeEvent() {
  events_.emplace_back();
  return static_cast<unsigned>(events_.size() - 1);
}

Status CudaStreams::prepare(unsigned event) {
  if (events_[event].handle)
    return Status::ok();
  return check(driver_->eventCreate(&events_[event].handle, cuda::kEventWithoutTime), "cuEventCreate");
}

Status CudaStreams::record(unsigned event, Handle stream) {
  events_[event].run = run_;
  return check(driver_->eventRecord(events_[event].handle, stream), "cuEventRecord");
}

// The whole run of an older record has ended, so there is nothing to wait for. And a capture must not wait for an event
// from outside of it.
Status CudaStreams::wait(unsigned event, Handle stream) {
  if (events_[event].run != run_)
    return Status::ok();
  return check(driver_->streamWaitEvent(stream, events_[event].handle, 0), "cuStreamWaitEvent");
}

Status CudaStreams::fork() {
  ++run_;
  if (streams_.size() == 1)
    return Status::ok();
  CLEAVE_TRY(record(ends_[0], streams_[0]));
  for (size_t i = 1; i < streams_.size(); ++i)
    CLEAVE_TRY(wait(ends_[0], streams_[i]));
  return Status::ok();
}

Status CudaStreams::join() {
  for (size_t i = 1; i < streams_.size(); ++i) {
    CLEAVE_TRY(record(ends_[i], streams_[i]));
    CLEAVE_TRY(wait(ends_[i], streams_[0]));
  }
  return Status::ok();
}

Status CudaStreams::synchronize() {
  for (Handle stream : streams_)
    CLEAVE_TRY(check(driver_->streamSynchronize(stream), "cuStreamSynchronize"));
  return Status::ok();
}

} // namespace cleave::rt

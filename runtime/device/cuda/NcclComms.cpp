#include "runtime/device/cuda/NcclComms.h"

namespace cleave::rt {

using cuda::Handle;

// Nobody uses them any more: users own them.
NcclComms::~NcclComms() {
  for (size_t i = comms_.size(); i-- > 0;)
    nccl_.destroy(comms_[i]);
}

bool NcclComms::enter() {
  std::lock_guard<std::mutex> lock(mutex_);
  uses_ += !isAborted_;
  return !isAborted_;
}

void NcclComms::leave() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (--uses_ == 0)
    changed_.notify_all();
}

bool NcclComms::keep(Handle comm) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!isAborted_) {
      comms_.push_back(comm);
      return true;
    }
  }
  nccl_.abort(comm); // nobody waits for it any more
  return false;
}

Handle NcclComms::first() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return comms_.empty() ? nullptr : comms_.front();
}

cuda::Result NcclComms::error() {
  Use use(*this);
  if (!use)
    return 0;
  std::vector<Handle> comms;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    comms = comms_;
  }
  for (Handle comm : comms)
    if (cuda::Result error = 0; nccl_.asyncError(comm, &error) == 0 && error != 0)
      return error;
  return 0;
}

void NcclComms::abort() {
  std::vector<Handle> comms;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    isAborted_ = true;
    changed_.wait_for(lock, kGraceTime, [this] { return uses_ == 0; });
    comms.swap(comms_);
  }
  for (size_t i = comms.size(); i-- > 0;)
    nccl_.abort(comms[i]);
}

} // namespace cleave::rt

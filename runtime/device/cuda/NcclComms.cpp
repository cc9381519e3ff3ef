#include "runtime/device/cuda/NcclComms.h"

#include "runtime/device/cuda/WatchedCall.h"

#include <algorithm>
#include <list>

namespace cleave::rt {

using cuda::Handle;

namespace {

// Aborts that are under way in this process. An abort may wait for graphs of other ranks of the process, which are
// destroyed one after the other. So only the last NcclComms object to be destroyed waits for all aborts.
class Aborts {
public:
  // Never destroyed, because threads that are left behind may outlive main().
  static Aborts &ofProcess() {
    static auto *aborts = new Aborts;
    return *aborts;
  }
  void addUser() {
    std::lock_guard<std::mutex> lock(mutex_);
    ++users_;
  }
  // The last user waits for all aborts, together for at most `limit`. A thread that is not over by then is left behind.
  void removeUser(std::chrono::milliseconds limit) {
    std::list<WatchedCall> calls;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (--users_ == 0)
        calls.swap(calls_);
    }
    auto end = std::chrono::steady_clock::now() + limit;
    for (WatchedCall &call : calls)
      call.isOver(std::max(end - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration::zero()));
  }
  void begin(std::function<Status()> function) {
    std::lock_guard<std::mutex> lock(mutex_);
    calls_.remove_if([](WatchedCall &call) { return call.isOver(std::chrono::seconds(0)); });
    calls_.emplace_back(std::move(function));
  }

private:
  std::mutex mutex_; // guards all below
  std::list<WatchedCall> calls_;
  unsigned users_ = 0;
};

} // namespace

NcclComms::NcclComms(const cuda::Nccl &nccl, const cuda::Driver &driver, int device)
    : nccl_(nccl), driver_(driver), device_(device) {
  Aborts::ofProcess().addUser();
}

// Nobody uses the communicators any more, because all users own this object. No graph has captured one of them any
// more.
NcclComms::~NcclComms() {
  for (size_t i = comms_.size(); i-- > 0;)
    nccl_.destroy(comms_[i]);
  Aborts::ofProcess().removeUser(kEndTime);
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
  beginAbort(comm); // nobody waits for it
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
    beginAbort(comms[i]);
}

// The context is retained here, while it exists. The thread may begin when the device is already destroyed.
void NcclComms::beginAbort(Handle comm) const {
  Handle context = nullptr;
  if (driver_.contextRetain(&context, device_) != 0)
    context = nullptr;
  Aborts::ofProcess().begin([&nccl = nccl_, &driver = driver_, device = device_, context, comm] {
    if (context)
      driver.contextSetCurrent(context);
    nccl.abort(comm);
    if (context)
      driver.contextRelease(device);
    return Status::ok();
  });
}

} // namespace cleave::rt

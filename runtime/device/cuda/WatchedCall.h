// Runs a call of NCCL that may never return on a thread of its own: NCCL waits without a limit for ranks that never
// come.
//
//   WatchedCall call([state, ...] { return connect(*state, ...); });
//   while (!call.isOver(kPeriod))
//     if (...)                                        // trouble: an abort wakes the call
//       break;
//   if (!call.isOver(WatchedCall::kWakeTime))
//     ...                                             // it cannot be woken: the destructor leaves the thread behind
//
// Invariant: a thread that is left behind uses only objects that the function owns (by value, by shared_ptr), or that
// are never destroyed. So the caller may destroy everything of its own, and the process may end.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_WATCHEDCALL_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_WATCHEDCALL_H

#include "runtime/base/Status.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace cleave::rt {

class WatchedCall {
public:
  static constexpr std::chrono::seconds kWakeTime{2}; // the time to wait for calls of NCCL that were aborted

  explicit WatchedCall(std::function<Status()> function) : shared_(std::make_shared<Shared>()) {
    thread_ = std::thread([shared = shared_, function = std::move(function)] {
      Status status = function();
      std::lock_guard<std::mutex> lock(shared->mutex);
      shared->status = std::move(status);
      shared->isOver = true;
      shared->changed.notify_all();
    });
  }
  ~WatchedCall() { isOver(std::chrono::seconds(0)) ? thread_.join() : thread_.detach(); }
  WatchedCall(const WatchedCall &) = delete;
  WatchedCall &operator=(const WatchedCall &) = delete;

  // Waits at most this long for the call to end. Returns whether it has ended.
  template <typename Duration> bool isOver(Duration time) {
    std::unique_lock<std::mutex> lock(shared_->mutex);
    return shared_->changed.wait_for(lock, time, [this] { return shared_->isOver; });
  }
  // Valid when the call is over.
  Status status() const {
    std::lock_guard<std::mutex> lock(shared_->mutex);
    return shared_->status;
  }

private:
  struct Shared {
    std::mutex mutex; // guards all below
    std::condition_variable changed;
    bool isOver = false;
    Status status;
  };
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

} // namespace cleave::rt

#endif

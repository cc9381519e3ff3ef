#include "runtime/session/RankThreads.h"

#include "runtime/base/CaughtStatus.h"

namespace cleave::rt {
namespace {

// No exception leaves a thread. An exception of the standard library (mostly for memory) becomes a status.
Status guarded(const std::function<Status(unsigned)> &work, unsigned index) {
  try {
    return work(index);
  } catch (...) {
    return caughtStatus();
  }
}

} // namespace

RankThreads::RankThreads(unsigned count, std::function<void(unsigned, const Status &)> onFailure)
    : onFailure_(std::move(onFailure)), statuses_(count) {
  try {
    for (unsigned i = 1; i < count; ++i)
      threads_.emplace_back([this, i] { serve(i); });
  } catch (...) {
    end();
    throw;
  }
}

RankThreads::~RankThreads() { end(); }

// The constructor calls it too, if it cannot start a thread. It then joins the threads that were started.
void RankThreads::end() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread &thread : threads_)
    thread.join();
}

Status RankThreads::run(const std::function<Status(unsigned)> &work) {
  std::unique_lock<std::mutex> lock(mutex_);
  work_ = &work;
  pending_ = static_cast<unsigned>(statuses_.size());
  ++round_;
  lock.unlock();
  changed_.notify_all();
  finish(0, guarded(work, 0));
  lock.lock();
  changed_.wait(lock, [this] { return pending_ == 0; });
  const Status *lost = nullptr;
  for (const Status &status : statuses_) {
    if (!status.isOk() && status.code() != Code::PeerLost)
      return status;
    if (!status.isOk() && !lost)
      lost = &status;
  }
  return lost ? *lost : Status::ok();
}

void RankThreads::serve(unsigned index) {
  for (uint64_t seen = 0;;) {
    const std::function<Status(unsigned)> *work;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || round_ != seen; });
      if (stopping_)
        return;
      seen = round_;
      work = work_;
    }
    finish(index, guarded(*work, index));
  }
}

void RankThreads::finish(unsigned index, Status status) {
  if (!status.isOk())
    onFailure_(index, status);
  std::lock_guard<std::mutex> lock(mutex_);
  statuses_[index] = std::move(status);
  if (--pending_ == 0)
    changed_.notify_all();
}

} // namespace cleave::rt

// One permanent thread for each local rank. OpenMP teams and caches stay with their rank, and a step starts no thread.
// Rank 0 works on the thread that calls run(). So a single rank needs no hand-over between threads, which would be most
// of a small model's latency.
#ifndef CLEAVE_RUNTIME_SESSION_RANKTHREADS_H
#define CLEAVE_RUNTIME_SESSION_RANKTHREADS_H

#include "runtime/base/Status.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cleave::rt {

class RankThreads {
public:
  // `onFailure` is called on the thread whose work failed, before the others are joined.
  RankThreads(unsigned count, std::function<void(unsigned, const Status &)> onFailure);
  ~RankThreads();

  // Runs `work(i)` for every rank i, each on its thread, and waits for all. Returns the status of the first rank that
  // failed for a reason of its own. If ranks have only lost a peer, returns the status of the first of these.
  Status run(const std::function<Status(unsigned)> &work);

private:
  void serve(unsigned index);
  void end();
  void finish(unsigned index, Status status);

  std::function<void(unsigned, const Status &)> onFailure_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<Status(unsigned)> *work_ = nullptr;
  std::vector<Status> statuses_;
  uint64_t round_ = 0;
  unsigned pending_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_; // threads of ranks 1 and up
};

} // namespace cleave::rt

#endif

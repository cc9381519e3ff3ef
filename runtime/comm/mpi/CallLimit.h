// Ends the process if a call takes too long. It is for the calls of MPI that wait for all ranks and have no nonblocking
// form: MPI_Init_thread() and MPI_Finalize(). Nothing can make such a call return, so the process cannot go on.
//
//   {
//     CallLimit limit(300, "the other ranks to start");
//     MPI_Init_thread(...); // after 300 s: "program: error: waited 300 s for the other ranks to start", exit code 1
//   }                       // the thread that waited is gone
#ifndef CLEAVE_RUNTIME_COMM_MPI_CALLLIMIT_H
#define CLEAVE_RUNTIME_COMM_MPI_CALLLIMIT_H

#include "runtime/base/WaitClock.h"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>

class CallLimit {
public:
  CallLimit(double seconds, std::string awaited) : seconds_(seconds), awaited_(std::move(awaited)) {
    std::fflush(nullptr); // end() writes no buffers: the thread that waits may hold their locks
    // Signals of the process go to its other threads, as without this one.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::thread([this] { watch(); });
    } catch (const std::system_error &) { // no thread can be made: the call has no limit
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  ~CallLimit() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      returned_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable())
      thread_.join();
  }

  CallLimit(const CallLimit &) = delete;
  CallLimit &operator=(const CallLimit &) = delete;

private:
  void watch() {
    using Clock = std::chrono::steady_clock;
    cleave::rt::WaitClock clock;
    std::unique_lock<std::mutex> lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(100), [this] { return returned_; })) {
      double waited = clock.look(std::chrono::duration<double>(Clock::now().time_since_epoch()).count());
      if (waited > seconds_)
        end(waited);
    }
  }

  // The calling thread is within MPI, so neither handlers of exit() nor destructors can run.
  [[noreturn]] void end(double waited) const {
    char number[32];
    std::snprintf(number, sizeof(number), "%.0f", waited);
    std::string line =
        std::string(program_invocation_short_name) + ": error: waited " + number + " s for " + awaited_ + "\n";
    [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    ::_exit(1);
  }

  double seconds_;
  std::string awaited_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool returned_ = false;
  std::thread thread_;
};

#endif

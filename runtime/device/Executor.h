// Runs bound programs: the caller's thread and the progress threads walk their lists of actions at the same time.
//
// Threads meet only in events, and at the end of an entry program. There is a progress thread for each thread that has
// actions in any program. It sleeps between programs, and is not woken for a program in which it has none.
#ifndef CLEAVE_RUNTIME_DEVICE_EXECUTOR_H
#define CLEAVE_RUNTIME_DEVICE_EXECUTOR_H

#include "runtime/base/Gate.h"
#include "runtime/device/BoundPlan.h"

#include <mutex>
#include <thread>

namespace cleave::rt {

class Executor {
public:
  // `failed` is set with the first error. Then all waits of this rank return. All arguments must outlive the executor.
  Executor(const fb::Plan &plan, BoundPlan &bound, Device &device, Communicator &comm, TraceSink *trace,
           std::atomic<bool> &failed);
  ~Executor();

  // Runs an entry program to its end. After an error, every later run returns that error.
  Status run(unsigned program);

private:
  void end();
  // A thread other than the caller's. It may read command n from `command` once `posted` has reached n.
  struct Progress {
    unsigned command = kStop;
    uint32_t commands = 0;
    Gate posted, finished;
    std::thread thread;
  };
  static constexpr unsigned kStop = ~0u;

  void progressLoop(unsigned thread);
  void post(Progress &progress, unsigned command);
  void walkEntry(unsigned thread, unsigned program);
  // On thread 0: an entry program, between the device's begin and end.
  Status runProgram(unsigned program);
  // `isOfMicroBatch` is true inside of a call that counts micro-batches.
  Status walk(unsigned thread, unsigned program, const Frames &frames, bool isOfMicroBatch = false);
  Status call(unsigned thread, const BoundCall &call, const Frames &frames, bool isOfMicroBatch);
  Status meet(unsigned thread, BoundInstruction &instruction, const Frames &frames, const char *body);
  Status execute(BoundInstruction &instruction, Action &action, const Frames &frames, uint32_t run, const char *body);
  Status placed(Status status, const Frames &frames, bool isOfMicroBatch) const;
  void fail(const Status &status);

  const fb::Plan &plan_;
  BoundPlan &bound_;
  Device &device_;
  Communicator &comm_;
  TraceSink *trace_;
  std::atomic<bool> &failed_;
  std::mutex mutex_; // firstError_
  Status firstError_;

  // How many times each shared event was recorded, by place. Each thread has its own counts.
  std::vector<uint32_t> recorded_[kThreads];
  Progress progress_[kThreads]; // entry 0, the caller's, is not used
};

} // namespace cleave::rt

#endif

// Runs bound programs: the thread of the caller and one progress thread walk their lists of actions side by side.
//
// The threads meet only in events, in the joins of calls, and at the end of an entry program. The progress thread
// sleeps between programs and is not woken for a program that has no work for it.
#ifndef CLEAVE_RUNTIME_DEVICE_EXECUTOR_H
#define CLEAVE_RUNTIME_DEVICE_EXECUTOR_H

#include "runtime/base/Gate.h"
#include "runtime/device/BoundPlan.h"

#include <mutex>
#include <thread>

namespace cleave::rt {

class Executor {
public:
  // `failed` is set with the first error and makes all waits of this rank return. All arguments outlive the executor.
  Executor(const fb::Plan &plan, BoundPlan &bound, Device &device, Communicator &comm, TraceSink *trace,
           std::atomic<bool> &failed);
  ~Executor();

  // Runs a program to its end, on frame 0. After an error every later run returns that error.
  Status run(unsigned program);

private:
  void progressLoop();
  void walkEntry(unsigned thread, unsigned program);
  Status walk(unsigned thread, unsigned program, unsigned frame);
  Status call(unsigned thread, BoundCall &call);
  Status execute(BoundInstruction &instruction, unsigned frame, uint32_t run);
  void fail(const Status &status);

  const fb::Plan &plan_;
  BoundPlan &bound_;
  Device &device_;
  Communicator &comm_;
  TraceSink *trace_;
  std::atomic<bool> &failed_;
  std::mutex mutex_; // firstError_
  Status firstError_;

  // Commands to the progress thread: command n is in command_ once posted_ has reached n.
  static constexpr unsigned kStop = ~0u;
  unsigned command_ = kStop;
  uint32_t commands_ = 0;
  Gate posted_, finished_;
  std::thread progress_;
};

} // namespace cleave::rt

#endif

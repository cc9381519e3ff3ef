#include "runtime/device/Executor.h"

namespace cleave::rt {

Executor::Executor(const fb::Plan &plan, BoundPlan &bound, Device &device, Communicator &comm, TraceSink *trace,
                   std::atomic<bool> &failed)
    : plan_(plan), bound_(bound), device_(device), comm_(comm), trace_(trace), failed_(failed) {
  bool needed = false;
  for (const BoundProgram &program : bound_.programs)
    needed |= program.uses[1];
  if (needed)
    progress_ = std::thread([this] { progressLoop(); });
}

Executor::~Executor() {
  if (!progress_.joinable())
    return;
  command_ = kStop;
  posted_.open(++commands_);
  progress_.join();
}

Status Executor::run(unsigned program) {
  if (!failed_) {
    bool both = bound_.programs[program].uses[1];
    if (both) {
      command_ = program;
      posted_.open(++commands_);
    }
    walkEntry(0, program);
    if (both)
      finished_.waitFor(commands_, [] { return false; }); // an error there ends it too
  }
  if (!failed_)
    return Status::ok();
  std::lock_guard<std::mutex> lock(mutex_);
  return firstError_;
}

void Executor::progressLoop() {
  for (uint32_t next = 1;; ++next) {
    posted_.waitFor(next, [] { return false; });
    if (command_ == kStop)
      return;
    walkEntry(1, command_);
    finished_.open(next);
  }
}

void Executor::walkEntry(unsigned thread, unsigned program) {
  device_.enterThread(thread);
  if (Status status = walk(thread, program, 0); !status.isOk())
    fail(status);
}

// The first error is kept; the other thread and the other ranks are told, so that nobody waits for this one.
void Executor::fail(const Status &status) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (failed_)
      return;
    firstError_ = status;
    failed_ = true;
  }
  comm_.abort(status);
}

Status Executor::walk(unsigned thread, unsigned index, unsigned frame) {
  BoundProgram &program = bound_.programs[index];
  uint32_t run = ++program.runs[thread];
  for (BoundInstruction &instruction : program.instructions[thread]) {
    Status status = instruction.call >= 0 ? call(thread, program.calls[static_cast<size_t>(instruction.call)])
                                          : execute(instruction, frame, run);
    if (!status.isOk())
      return instruction.call >= 0 ? status : std::move(status).in(describe(plan_, index, instruction.index));
  }
  return Status::ok();
}

Status Executor::execute(BoundInstruction &instruction, unsigned frame, uint32_t run) {
  if (!trace_)
    return instruction.action->run(frame, run);
  uint64_t begin = TraceSink::now();
  Status status = instruction.action->run(frame, run);
  trace_->span(instruction.track, instruction.name, begin, TraceSink::now());
  return status;
}

Status Executor::call(unsigned thread, BoundCall &call) {
  bool isCaller = thread == call.thread;
  bool joined = call.startRecord != nullptr;
  for (unsigned i = 0; i < call.times; ++i) {
    uint32_t run = ++call.runs[thread];
    if (joined)
      CLEAVE_TRY((isCaller ? call.startRecord : call.startWait)->run(0, run));
    if (bound_.programs[call.callee].uses[thread])
      CLEAVE_TRY(walk(thread, call.callee, call.firstFrame + i));
    if (joined)
      CLEAVE_TRY((isCaller ? call.endWait : call.endRecord)->run(0, run));
  }
  return Status::ok();
}

} // namespace cleave::rt

#include "runtime/device/Executor.h"

#include "runtime/base/ShortTurns.h"

namespace cleave::rt {

Executor::Executor(const fb::Plan &plan, BoundPlan &bound, Device &device, Communicator &comm, TraceSink *trace,
                   std::atomic<bool> &failed)
    : plan_(plan), bound_(bound), device_(device), comm_(comm), trace_(trace), failed_(failed) {
  for (std::vector<uint32_t> &ofThread : recorded_)
    ofThread.resize(bound.eventPlaces);
  try {
    for (unsigned thread = 1; thread < kThreads; ++thread)
      for (const BoundProgram &program : bound_.programs)
        if (program.uses[thread] && !progress_[thread].thread.joinable())
          progress_[thread].thread = std::thread([this, thread] { progressLoop(thread); });
  } catch (...) {
    end();
    throw;
  }
}

Executor::~Executor() { end(); }

// Stops all progress threads that were started. If one could not be started, the constructor calls it.
void Executor::end() {
  for (Progress &progress : progress_)
    if (progress.thread.joinable()) {
      post(progress, kStop);
      progress.thread.join();
    }
}

void Executor::post(Progress &progress, unsigned command) {
  progress.command = command;
  progress.posted.open(++progress.commands);
}

Status Executor::run(unsigned program) {
  if (!failed_) {
    const bool *uses = bound_.programs[program].uses;
    for (unsigned thread = 1; thread < kThreads; ++thread)
      if (uses[thread])
        post(progress_[thread], program);
    walkEntry(0, program);
    for (unsigned thread = 1; thread < kThreads; ++thread)
      if (uses[thread]) // it ends even after an error
        progress_[thread].finished.waitFor(progress_[thread].commands, [] { return false; });
  }
  if (!failed_)
    return Status::ok();
  std::lock_guard<std::mutex> lock(mutex_);
  return firstError_;
}

void Executor::progressLoop(unsigned thread) {
  Progress &progress = progress_[thread];
  takeShortTurns();
  for (uint32_t next = 1;; ++next) {
    progress.posted.waitFor(next, [] { return false; });
    if (progress.command == kStop)
      return;
    walkEntry(thread, progress.command);
    progress.finished.open(next);
  }
}

void Executor::walkEntry(unsigned thread, unsigned program) {
  Status status = device_.enterThread(thread);
  if (status.isOk())
    status = thread == 0 ? runProgram(program) : walk(thread, program, Frames());
  if (!status.isOk())
    fail(status);
  device_.leaveThread(thread);
}

Status Executor::runProgram(unsigned program) {
  for (bool mustRepeat = true; mustRepeat;) {
    bool isDone = false;
    CLEAVE_TRY(device_.beginProgram(program, &isDone));
    if (isDone)
      return Status::ok();
    CLEAVE_TRY(walk(0, program, Frames()));
    CLEAVE_TRY(device_.endProgram(program, &mustRepeat));
  }
  return Status::ok();
}

// Keeps the first error, and tells the other threads and the other ranks, so that nobody waits for this rank.
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

// A kernel refuses a value of the data, such as an index that is out of range. The reader needs the node and the value
// first, and the instruction last.
static Status refused(const Status &status, const std::string &node, const std::string &place) {
  return invalidArgument((node.empty() ? "" : node + ": ") + status.message() + "; in " + place);
}

Status Executor::walk(unsigned thread, unsigned index, const Frames &frames, bool isOfMicroBatch) {
  BoundProgram &program = bound_.programs[index];
  uint32_t run = ++program.runs[thread];
  for (BoundInstruction &instruction : program.instructions[thread]) {
    Status status = instruction.call >= 0
                        ? call(thread, program.calls[static_cast<size_t>(instruction.call)], frames, isOfMicroBatch)
                    : instruction.event >= 0 ? meet(thread, instruction, frames, program.body)
                                             : execute(instruction, *instruction.action, frames, run, program.body);
    if (status.isOk())
      continue;
    if (instruction.call >= 0)
      return status;
    std::string place = describe(plan_, index, instruction.index);
    if (status.code() != Code::InvalidArgument)
      return std::move(status).in(place);
    const fb::Instruction &refusing = *plan_.programs()->Get(index)->instructions()->Get(instruction.index);
    return refused(placed(std::move(status), frames, isOfMicroBatch), std::string(textOf(refusing.note())), place);
  }
  return Status::ok();
}

// Adds to a refused value which part of the batch its position refers to: a kernel counts in the rank's own part of a
// batch, and inside of the loop over micro-batches in that part of one micro-batch. Programs outside of this loop read
// whole batches.
Status Executor::placed(Status status, const Frames &frames, bool isOfMicroBatch) const {
  std::string place;
  if (comm_.size() > 1)
    place = "rank " + std::to_string(comm_.rank()) + "'s part of the batch";
  if (plan_.micro_batches() > 1 && isOfMicroBatch)
    place += (place.empty() ? "" : ", ") + ("micro-batch " + std::to_string(frames.of(fb::Counter::micro_batch) + 1)) +
             " of " + std::to_string(plan_.micro_batches());
  if (status.code() != Code::InvalidArgument || place.empty())
    return status;
  return invalidArgument(status.message() + " (in " + place + ")");
}

// Runs a record of a shared event, or a wait for it. All threads count all records, in issue order.
Status Executor::meet(unsigned thread, BoundInstruction &instruction, const Frames &frames, const char *body) {
  const BoundEvent &event = bound_.events[static_cast<size_t>(instruction.event)];
  uint64_t place = frames.place(event.counter, instruction.frame, event.frames);
  uint32_t &recorded = recorded_[thread][event.firstPlace + place];
  recorded += instruction.isRecord;
  if (instruction.ofPlace.empty())
    return Status::ok();
  return execute(instruction, *instruction.ofPlace[place], frames, recorded, body);
}

Status Executor::execute(BoundInstruction &instruction, Action &action, const Frames &frames, uint32_t run,
                         const char *body) {
  if (!trace_)
    return action.run(frames, run);
  // Some devices only enqueue. Waiting for them makes a span the time of the work, not that of enqueueing it.
  uint64_t begin = TraceSink::now();
  Status status = action.run(frames, run);
  if (status.isOk())
    status = device_.synchronize();
  trace_->span(instruction.track, instruction.name, begin, TraceSink::now(),
               {instruction.bytes, body, frames.of(fb::Counter::micro_batch)});
  return status;
}

Status Executor::call(unsigned thread, const BoundCall &call, const Frames &frames, bool isOfMicroBatch) {
  isOfMicroBatch |= call.counter == fb::Counter::micro_batch;
  for (int64_t i = 0; i < call.times; ++i)
    CLEAVE_TRY(
        walk(thread, call.callee, frames.called(call.counter, call.firstFrame + i * call.stride), isOfMicroBatch));
  return Status::ok();
}

} // namespace cleave::rt

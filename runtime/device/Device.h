// What a device does for a rank: gives memory, and turns instructions into actions.
//
// When a rank is created, every instruction of its plan becomes an Action once: addresses resolved, library
// primitives built. Running a program is then walking lists of actions. Whose thread runs an action is the device's
// answer to threadOf(): a host *executes* on the thread that calls run(), so its compute stream is one thread and each
// other stream one more; a GPU *enqueues*, so that one thread serves all streams, and record and wait are events
// of the driver.
//
// Rejected: one virtual `enqueueX(stream, ...)` per instruction kind. It would look up addresses, kernels and
// parameters again at each step; an action is bound once and costs one indirect call.
#ifndef CLEAVE_RUNTIME_DEVICE_DEVICE_H
#define CLEAVE_RUNTIME_DEVICE_DEVICE_H

#include "cleave/model.h"
#include "runtime/base/Status.h"
#include "runtime/comm/Ring.h"
#include "runtime/plan/Frames.h"
#include "runtime/plan/Opcode.h"

#include <atomic>
#include <memory>
#include <vector>

namespace cleave::rt {

// A byte range of a region with frames: the frame `frame` further on than the running program's on `counter` lies
// `stride` bytes after the one before it, modulo `frames`.
struct Address {
  std::byte *base = nullptr;
  size_t bytes = 0;
  size_t stride = 0;
  unsigned frames = 1;
  fb::Counter counter = fb::Counter::micro_batch;
  int64_t frame = 0;

  std::byte *at(const Frames &program) const {
    return frames == 1 ? base : base + program.place(counter, frame, frames) * stride;
  }
};

// A bound instruction. run() allocates nothing above 4 KiB after its first call.
class Action {
public:
  virtual ~Action() = default;
  // `frames` are those of the running program. `run` counts, from 1, the runs of the program this action belongs to; of
  // a record or a wait of an event that programs share, how often it was recorded by now in issue order (0: not yet).
  virtual Status run(const Frames &frames, uint32_t run) = 0;
};
using ActionPtr = std::unique_ptr<Action>;

// Of a rank: the caller of Rank::run, and progress threads, each of which serves a stream or several.
constexpr unsigned kThreads = kStreamChannels;

struct LaunchRequest {
  const fb::Kernel &kernel;
  cleave_kernel_fn function; // of a generated kernel on a host; null otherwise
  std::vector<Address> operands;
  unsigned stream;
  const cleave_device_kernel *device = nullptr; // of a generated kernel on another device
  std::string note;                             // the instruction's, for messages
};

struct CollectiveRequest {
  Opcode opcode;
  const Group &group;
  Communicator &comm;
  Address data, staging;
  size_t count;
  fb::DType dtype;
  Reduction reduction;
  int root; // index in the group, of those that have one
  unsigned stream;
  std::string place; // the instruction, for messages
};

struct TransferRequest {
  Opcode opcode; // Send, Recv
  Communicator &comm;
  int peer; // a rank
  Address data;
  unsigned channel; // below kTransferChannels
  unsigned stream;
  std::string place;
};

// Who the ranks are, and the groups of all kinds: the same on all ranks. A rank need not be in each of them.
struct ConnectRequest {
  Communicator &comm;
  std::vector<uint32_t> mesh;
  std::vector<GroupShape> groups;
};

class Device {
public:
  virtual ~Device() = default;

  // Called by all ranks at the same time, before anything is bound: a device that talks to others' devices by itself
  // joins them.
  virtual Status connect(const ConnectRequest &) { return Status::ok(); }

  // Zeroed memory, aligned to 64 bytes, that lives as long as the device: its own, or the host's, which its copies
  // reach (a GPU pins it, so that they run beside its kernels).
  virtual Status allocate(fb::Space space, size_t bytes, std::byte **data) = 0;
  // Which of the rank's threads runs the actions of a stream: 0 the caller of Rank::run, others progress threads.
  virtual unsigned threadOf(unsigned stream) const = 0;
  // Called on each of the rank's threads before the first action of a run and after its last: thread 0 is the user's,
  // and finds its settings as they were. After an error it has no actions, and is left all the same.
  virtual Status enterThread(unsigned thread) = 0;
  virtual void leaveThread(unsigned thread) = 0;

  // Around the actions of an entry program, on thread 0. A device may keep what a program enqueues and do it again as one
  // piece: then beginProgram() has done so, and says that the actions are not to be run.
  virtual Status beginProgram(unsigned, bool *isDone) {
    *isDone = false;
    return Status::ok();
  }
  virtual Status endProgram(unsigned) { return Status::ok(); }

  // Whether the host may touch the device's memory. Where not, Rank keeps images of what the host reads and writes, and
  // moves bytes between both. Copies are in order with the actions of a run; synchronize() waits for all of them, and
  // tells what kernels found wrong.
  virtual bool sharesMemory() const { return true; }
  virtual Status upload(std::byte *target, const std::byte *source, size_t bytes);
  virtual Status download(std::byte *target, const std::byte *source, size_t bytes);
  virtual Status synchronize() { return Status::ok(); }

  virtual Status launch(const LaunchRequest &request, ActionPtr *action) = 0;
  virtual Status copy(unsigned stream, Address target, Address source, ActionPtr *action) = 0;
  virtual Status fill(unsigned stream, Address target, uint64_t pattern, unsigned width, ActionPtr *action) = 0;
  virtual Status collective(const CollectiveRequest &request, ActionPtr *action) = 0;
  virtual Status transfer(const TransferRequest &request, ActionPtr *action) = 0;
  // A point of a program that its other streams can wait for; the number is passed to record() and wait(). A wait is
  // for the record with its number of the run, or for a later one.
  virtual unsigned makeEvent() = 0;
  virtual Status record(unsigned stream, unsigned event, ActionPtr *action) = 0;
  virtual Status wait(unsigned stream, unsigned event, ActionPtr *action) = 0;
};

// Runs a collective over memory of the host.
Status runRing(const CollectiveRequest &request, const RingData &ring);
// Sends or receives bytes in the host's memory, on the plan's channel.
Status runTransfer(const TransferRequest &request, std::byte *data);

struct DeviceOptions {
  int threads = 1;        // compute threads of the rank
  int plannedThreads = 1; // those that scratch was planned for
  // Set when any thread of the rank has failed: waits return then.
  const std::atomic<bool> *failed = nullptr;
  int rank = 0;
  uint64_t deviceBytes = 0;    // that the plan's regions take of the device's memory
  std::string_view image;      // cleave_model.device_image
  bool isTraced = false;       // each action is waited for
};

// Makes the device of Plan.target ("host:avx512" -> host).
Status createDevice(const std::string &target, const DeviceOptions &options, std::unique_ptr<Device> *result);

// The calling thread as thread 0 of a device whose memory the host cannot touch, while this lives: for calls outside of
// a run. Runs, which enter by themselves, do not lie within.
class OnDevice {
public:
  explicit OnDevice(Device &device) : device_(device.sharesMemory() ? nullptr : &device) {
    if (device_)
      status_ = device_->enterThread(0);
  }
  ~OnDevice() {
    if (device_)
      device_->leaveThread(0);
  }
  OnDevice(const OnDevice &) = delete;
  OnDevice &operator=(const OnDevice &) = delete;

  const Status &status() const { return status_; }

private:
  Device *device_;
  Status status_;
};

} // namespace cleave::rt

#endif

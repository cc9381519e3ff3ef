// What a device does for a rank: it provides memory, and turns instructions into actions.
//
// When a rank is created, every instruction of its plan becomes an Action once: addresses are resolved, and primitives
// of libraries are built. To run a program is then to walk lists of actions. The device decides which thread runs an
// action (threadOf()). A host *executes*: the compute stream runs on the thread that calls run(), and each other stream
// has a thread of its own. A GPU *enqueues*: one thread serves all streams, and record and wait are events of the
// driver.
//
// Rejected: one virtual `enqueueX(stream, ...)` for each kind of instruction. It would look up addresses, kernels and
// parameters again in each step. An action is bound once and costs one indirect call.
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

// A byte range of a region that may have frames. The address is `frame` frames after the running program's frame on
// `counter`, modulo `frames`. Successive frames are `stride` bytes apart.
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

// A bound instruction. After its first call, run() allocates at most 4 KiB.
class Action {
public:
  virtual ~Action() = default;
  // `frames` are the frames of the running program. `run` is the number of this run of the action's program; the first
  // run has number 1. For a record of a shared event or a wait for it, `run` is the number of its records so far in
  // issue order (0: none).
  virtual Status run(const Frames &frames, uint32_t run) = 0;
};
using ActionPtr = std::unique_ptr<Action>;

// The threads of a rank: the caller of Rank::run, and progress threads, each of which serves one or several streams.
constexpr unsigned kThreads = kStreamChannels;

struct LaunchRequest {
  const fb::Kernel &kernel;
  cleave_kernel_fn function; // of a generated kernel on a host; otherwise null
  std::vector<Address> operands;
  unsigned stream;
  const cleave_device_kernel *device = nullptr; // of a generated kernel on another device
  std::string note;                             // the instruction's note, for messages
};

struct CollectiveRequest {
  Opcode opcode;
  const Group &group;
  Communicator &comm;
  Address data, staging;
  fb::Access access; // what the plan lets the collective do with the data; a broadcast's root only reads it
  size_t count;
  fb::DType dtype;
  Reduction reduction;
  int root; // index in the group; only of collectives with a root
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

// The mesh, and the groups of all kinds of ranks. It is the same on all ranks. A rank need not be a member of each
// group.
struct ConnectRequest {
  Communicator &comm;
  std::vector<uint32_t> mesh;
  std::vector<GroupShape> groups;
};

class Device {
public:
  virtual ~Device() = default;

  // All ranks call it at the same time, before anything is bound. A device that communicates directly with other
  // devices connects to them.
  virtual Status connect(const ConnectRequest &) { return Status::ok(); }

  // Allocates zeroed memory, aligned to 64 bytes, which lives as long as the device. It is the device's own memory, or
  // memory of the host that its copies reach. (A GPU pins the latter, so that copies run at the same time as its
  // kernels.)
  virtual Status allocate(fb::Space space, size_t bytes, std::byte **data) = 0;
  // Returns which of the rank's threads runs the actions of a stream. 0 is the caller of Rank::run, others are progress
  // threads.
  virtual unsigned threadOf(unsigned stream) const = 0;
  // Called on each of the rank's threads before the first action of a run, and after its last. Thread 0 is the user's,
  // so leaveThread() restores its settings. If enterThread() fails, the thread runs no actions, but leaveThread() is
  // still called. It also ends what a run that failed between beginProgram() and endProgram() has left open.
  virtual Status enterThread(unsigned thread) = 0;
  virtual void leaveThread(unsigned thread) = 0;

  // Called on thread 0 before and after the actions of an entry program. A device may record the work that a program
  // enqueues, and later replay it as one piece. beginProgram() then replays it and sets `*isDone`: the actions are not
  // run. While it records, nothing runs on the device. So endProgram() then sets `*mustRepeat`, and the program is begun
  // again.
  virtual Status beginProgram(unsigned, bool *isDone) {
    *isDone = false;
    return Status::ok();
  }
  virtual Status endProgram(unsigned, bool *mustRepeat) {
    *mustRepeat = false;
    return Status::ok();
  }

  // True if the host may touch the device's memory. Otherwise Rank keeps images of the bytes that the host reads and
  // writes, and copies bytes between memory and image. These copies are in order with the actions of a run.
  // synchronize() waits for all of them, and reports errors that kernels have found.
  virtual bool sharesMemory() const { return true; }
  virtual Status upload(std::byte *target, const std::byte *source, size_t bytes);
  virtual Status download(std::byte *target, const std::byte *source, size_t bytes);
  virtual Status synchronize() { return Status::ok(); }

  virtual Status launch(const LaunchRequest &request, ActionPtr *action) = 0;
  virtual Status copy(unsigned stream, Address target, Address source, ActionPtr *action) = 0;
  virtual Status fill(unsigned stream, Address target, uint64_t pattern, unsigned width, ActionPtr *action) = 0;
  virtual Status collective(const CollectiveRequest &request, ActionPtr *action) = 0;
  virtual Status transfer(const TransferRequest &request, ActionPtr *action) = 0;
  // Makes an event: a point of a program that its other streams can wait for. record() and wait() get its number. A
  // wait is for the record with the same number of the run, or for a later one.
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
  int plannedThreads = 1; // the number that scratch was planned for
  // Set when any thread of the rank has failed. Waits then return.
  const std::atomic<bool> *failed = nullptr;
  int rank = 0;
  uint64_t deviceBytes = 0;    // bytes of the device's memory that the plan's regions need
  std::string_view image;      // cleave_model.device_image
  bool isTraced = false;       // the rank waits for each action
};

// Makes the device of Plan.target ("host:avx512" -> host).
Status createDevice(const std::string &target, const DeviceOptions &options, std::unique_ptr<Device> *result);

// While it exists, the calling thread is thread 0 of a device whose memory the host cannot touch. It is for calls
// outside of a run. A run enters by itself, so it must not be inside of this scope.
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

// The GPUs of all ranks, one for each, connected by NCCL. Bytes between them do not pass through the host.
//
// There is a communicator of all ranks, and one for each of the plan's groups (along mesh axes, or among some stages).
// Every rank splits them from the first in the same order. If the hosts communicate by NCCL, the first one is split
// from theirs (NcclCommunicator.h), and the hosts exchange nothing while a program runs. Collectives are enqueued, and
// may be captured in a graph. All communication has one order, the plan's issue order, across streams and
// communicators. The proof of the plan shows that it comes to an end in this order
// (compiler/Planning/Verify/Rationale.md, "Rendezvous on one thread"). If kernels of several communicators started in
// different orders on different GPUs, they would wait for each other for ever.
//
// A *watchdog* thread looks for problems that nobody else sees while the host waits for the GPU: an error of NCCL, a
// rank that has failed or is lost (the communicator of the hosts knows), or no progress for CLEAVE_COMM_TIMEOUT_S. Then
// it begins to abort all communicators, and no graph is launched any more. The waiting host returns, and health() says
// what happened, and in which instruction this rank waited. Progress is a number in pinned memory, which the GPU writes
// after each operation. An operation counts from the moment before NCCL is called, because the first call connects the
// ranks, and waits for them inside of NCCL.
//
// Communicators are made under the same rules. A separate thread (WatchedCall.h) makes them, and the host watches it.
// If NCCL cannot be woken, the thread is left behind, and the program ends with the error.
//
// *Order of destruction.* The watchdog uses this object, the pinned number, the communicator of the hosts, and the
// names of instructions, which actions own. So:
//
// 1. abortIfBroken() or the destructor ends the watchdog and waits for its end. If a rank is lost, aborts have begun by
//    then, so work on the GPU ends. Nobody waits for an abort yet, because it waits for graphs.
// 2. Then the device waits for its streams, and destroys the graphs that have captured communicators. Then the
//    communicators are freed, with this object.
// 3. Then follow streams, memory and the context (~CudaDevice), then the actions (~Rank::Impl), then the communicator
//    of the hosts (Session::Impl).
// 4. The last communicators of the process wait for all aborts (NcclComms.h), because an abort may have waited for the
//    graphs of another rank of this process.
//
// Except for graphs, the destructor alone is enough. A thread that was left behind in NCCL outlives all of this: it
// owns the communicators too, and its GPU's context is retained for it and never released.
//
// Rejected: nonblocking communicators (ncclConfig_t), which can be polled while they are made. Then all calls on them
// may be "in progress", even within captured graphs.
// Rejected: the host waits by polling. It would have to know each place in which a driver waits.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_NCCLWORLD_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_NCCLWORLD_H

#include "runtime/base/WaitClock.h"
#include "runtime/device/Device.h"
#include "runtime/device/cuda/CudaStreams.h"
#include "runtime/device/cuda/NcclComms.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace cleave::rt {

class NcclWorld {
public:
  // What a run of a program communicates, in issue order. It is kept with a captured graph, which communicates the
  // same.
  struct Script {
    std::vector<const std::string *> places; // texts that name the instructions; actions own them
    uint64_t bytes = 0;                      // bytes that this rank sends
  };
  struct Setup {
    const cuda::Driver *driver = nullptr;
    int device = 0;
    cuda::Handle context = nullptr;
    CudaStreams *streams = nullptr;
    // `done` is pinned: the number of operations done. `marks` is on the device: 0, 1, 2, ..., kMarks - 1.
    volatile uint32_t *done = nullptr;
    cuda::Pointer marks = 0;
  };
  static constexpr uint32_t kMarks = 1 << 18; // 1 MiB; operations of a run after so many have no time limit

  // All ranks call it at the same time.
  static Status join(const Setup &setup, const ConnectRequest &request, std::unique_ptr<NcclWorld> *result);
  ~NcclWorld();

  // Ends the watchdog. If a rank is lost or has failed, begins to abort all work on the GPU. It must be called before
  // the last wait for the streams. The world is destroyed after that, and after the graphs that have captured its
  // communicators.
  void abortIfBroken();
  // Begins a run of a program. With a script, the run is a launch of a captured graph.
  void startRun(const Script *script);
  const Script &script() const { return script_; }
  // Counts the bytes of a run that enqueued its operations. Those of a graph's run are known when it starts.
  void countSent() { host_.countSent(script_.bytes); }
  // Ends the run. The watchdog expects no progress until the next one.
  void finishRun();
  // Sets `*all` to true if `mine` is true on all ranks, which all call it. For whether to capture: NCCL requires that an
  // operation is captured on all of its ranks or on none (NCCL User Guide, "Using NCCL with CUDA Graphs").
  Status agree(bool mine, bool *all) { return host_.agree(mine, all, kControlChannel); }
  // Enqueue one operation. `place` names its instruction, and must outlive this object.
  Status collective(const CollectiveRequest &request, std::byte *data, cuda::Handle stream, const std::string &place);
  Status transfer(const TransferRequest &request, std::byte *data, cuda::Handle stream, const std::string &place);
  // Launches a graph that may have captured its communicators. Fails once they are aborted.
  Status launch(cuda::Handle graph, cuda::Handle stream);
  // Why the watchdog has given up. It is cheap to call.
  Status health() const;

private:
  NcclWorld(const Setup &setup, const ConnectRequest &request, const cuda::Nccl &nccl);
  // This rank's part in one split of the communicator of all ranks. A rank need not be a member.
  struct Part {
    std::vector<int> members;
    int color, index;
    bool isMember;
  };
  std::vector<Part> partsOf(const ConnectRequest &request) const;
  // Makes them on a separate thread.
  Status makeCommunicators(const std::vector<Part> &parts, const cuda::NcclId &id, int size);
  Status begin(cuda::Handle stream, const std::string &place);
  Status finish(cuda::Handle stream, uint64_t bytes);
  Status explain(cuda::Result result, const char *what) const;
  Status findGroup(const Group &group, cuda::Handle *comm) const;
  Status lost() const;
  uint32_t lastMark() const;
  void watch();
  void stopWatching();
  std::string pending() const;
  // Returns what is wrong, or an empty text.
  std::string trouble(double now);
  std::string nameLost(const std::string &error) const;
  std::string waitedText() const;
  void giveUp(const std::string &why);

  const cuda::Nccl &nccl_;
  Setup setup_;
  Communicator &host_;
  int rank_;
  std::shared_ptr<NcclComms> comms_;                // the first one has all ranks
  cuda::Handle all_ = nullptr;                      // the one with all ranks
  std::map<std::vector<int>, cuda::Handle> groups_; // by their members
  unsigned order_;                                  // the event after the last operation

  mutable std::mutex mutex_; // guards all below
  std::condition_variable changed_;
  Script script_;
  std::string reason_;
  bool stopping_ = false;
  bool isIdle_ = true; // no run is under way
  std::atomic<bool> failed_{false};
  uint32_t seen_ = 0; // the watchdog's: the progress that it saw last
  WaitClock clock_;   // since seen_ changed
  std::thread watchdog_;
};

} // namespace cleave::rt

#endif

// The GPUs of all ranks, one each, joined by NCCL: what crosses them never passes the host.
//
// There is a communicator of all ranks, and one for each of the plan's groups (along mesh axes, or among some stages),
// split from it by every rank in the same order. Where the hosts talk by NCCL, the first one is split from theirs
// (NcclCommunicator.h), and nothing of the hosts is under way while a program runs. Collectives are enqueued, and may
// be captured in a graph. All that communicates is in line, in the plan's issue order, across streams and
// communicators: the plan was proved to end in that order (compiler/Planning/Rationale.md, "Rendezvous on one thread"),
// and kernels of several communicators that start in different orders on different GPUs would wait for each other for
// ever.
//
// A *watchdog* thread looks for what nobody else would see while the host waits for the GPU: an error of NCCL, a rank
// that has failed or is lost (the communicator of the hosts knows), or no progress for CLEAVE_COMM_TIMEOUT_S. Then it
// begins to abort all communicators, the waiting host returns, and health() says what happened and which instruction
// was waited in. Progress is a number in pinned memory, which the GPU writes after each operation. An operation counts
// from before NCCL is called: a first call connects the ranks, and waits for them inside of NCCL. No graph is launched
// from then on.
//
// Communicators are made under the same rules, by a thread of its own (WatchedCall.h), and the host looks after it.
// Where NCCL cannot be woken, the thread is left behind, and the program ends with the error.
//
// *Order of destruction.* The watchdog touches this object, the pinned number, the communicator of the hosts, and the
// places of instructions, which actions own. So:
//
//   1. abortIfBroken() or the destructor ends the watchdog, and waits for its end. Where somebody is lost, aborts have
//      begun then: what waits on the GPU ends. Nobody waits for an abort yet, since that waits for graphs.
//   2. Then streams are waited for, and graphs that communicators are in go, then the communicators, with this object.
//   3. Then streams, memory and the context (~CudaDevice), then the actions (~Rank::Impl), then the communicator of the
//      hosts (Session::Impl).
//   4. The last communicators of the process to go wait for all aborts (NcclComms.h): one of them may have waited for
//      the graphs of another rank of this process.
//
// The destructor alone is enough for all but graphs. A thread that was left behind in NCCL outlives all of this: it
// owns the communicators, too, and its GPU's context is retained for it and never released.
//
// Rejected: nonblocking communicators (ncclConfig_t), which may be polled while they are made. All calls on them may be
// "in progress" then, within captured graphs too.
// Rejected: the host waits by polling. It would have to know of each place where a driver waits.
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
  // What a run of a program communicates, in issue order: kept with a captured graph, which does the same again.
  struct Script {
    std::vector<const std::string *> places; // in the plan, owned by actions
    uint64_t bytes = 0;                      // that leave this rank
  };
  struct Setup {
    const cuda::Driver *driver = nullptr;
    int device = 0;
    cuda::Handle context = nullptr;
    CudaStreams *streams = nullptr;
    // Pinned: the number of operations done; on the device: 0, 1, 2, ... up to kMarks.
    volatile uint32_t *done = nullptr;
    cuda::Pointer marks = 0;
  };
  static constexpr uint32_t kMarks = 1 << 18; // 1 MiB; what a run does beyond them has no time limit

  // Called by all ranks at the same time.
  static Status join(const Setup &setup, const ConnectRequest &request, std::unique_ptr<NcclWorld> *result);
  ~NcclWorld();

  // Of a world in which somebody is lost or has failed, what is under way ends. To be called before the last wait for
  // the streams; the world is destroyed after it, and after graphs that it is in.
  void abortIfBroken();
  // A run of a program begins; with a script, it is a graph that was captured.
  void startRun(const Script *script);
  const Script &script() const { return script_; }
  // The run has ended: the watchdog expects no progress until the next one.
  void finishRun();
  // Enqueue one operation. `place` says which instruction it is, and lives as long as this.
  Status collective(const CollectiveRequest &request, std::byte *data, cuda::Handle stream, const std::string &place);
  Status transfer(const TransferRequest &request, std::byte *data, cuda::Handle stream, const std::string &place);
  // Launches a graph that it may be in; not once communicators are aborted.
  Status launch(cuda::Handle graph, cuda::Handle stream);
  // Why the watchdog has given up; cheap.
  Status health() const;

private:
  NcclWorld(const Setup &setup, const ConnectRequest &request, const cuda::Nccl &nccl);
  // The part that this rank has in one split of the communicator of all ranks; none of which it is no member.
  struct Part {
    std::vector<int> members;
    int color, index;
    bool isMember;
  };
  std::vector<Part> partsOf(const ConnectRequest &request) const;
  // By a thread of its own.
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
  // Empty while all is well.
  std::string trouble(double now);
  std::string nameLost(const std::string &error) const;
  std::string waitedText() const;
  void giveUp(const std::string &why);

  const cuda::Nccl &nccl_;
  Setup setup_;
  Communicator &host_;
  int rank_;
  std::shared_ptr<NcclComms> comms_;                // the first one of all ranks
  cuda::Handle all_ = nullptr;                      // that one
  std::map<std::vector<int>, cuda::Handle> groups_; // by their members
  unsigned order_;                                  // the event after the last operation

  mutable std::mutex mutex_; // what follows
  std::condition_variable changed_;
  Script script_;
  std::string reason_;
  bool stopping_ = false;
  bool isIdle_ = true; // no run is under way
  std::atomic<bool> failed_{false};
  uint32_t seen_ = 0; // the watchdog's: progress
  WaitClock clock_;   // since it was made
  std::thread watchdog_;
};

} // namespace cleave::rt

#endif

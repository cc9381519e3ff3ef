// Communicators of NCCL that several threads call, and that one of them may abort at any time.
//
//   NcclComms::Use use(*comms);                       // abort() waits for its end
//   if (!use)
//     return ...;                                     // they were aborted: nobody may call NCCL with them any more
//   nccl.allReduce(..., comm, stream);                // or launch a graph that has captured one
//
// NCCL frees a communicator that is aborted, as one that is destroyed. It first waits until graphs that have captured
// it are destroyed, without a limit (NCCL 2.18 to 2.30, src/init.cc, commReclaim): of the ranks of a communicator that
// are in one process, the last to end it waits for the graphs of all. So abort() waits for no abort. Each has a thread.
//
//   comms->abort();      // kernels of all of them end
//   ...                  // streams are synchronized then, and graphs are destroyed
//   comms.reset();       // where they are the last ones in this process, it waits for all aborts, for kEndTime
//
// Invariants:
//
//   1. A call with a communicator begins only under a Use, and no Use begins after abort() has begun.
//   2. abort() frees no communicator while a Use lives, but for one that lives on for kGraceTime: its thread waits
//      inside NCCL for a rank that never comes, and the abort is what wakes it.
//   3. Each communicator is freed once: by abort(), or, last first, by the destructor.
//   4. They are shared: whoever may still call (a thread that was left behind in NCCL, WatchedCall.h) owns them, too.
//   5. Nobody who has a graph waits for an abort, nor for a thread that does. An abort's thread holds its GPU's context
//      until it is over, and touches nothing else but NCCL.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_NCCLCOMMS_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_NCCLCOMMS_H

#include "runtime/device/cuda/Driver.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace cleave::rt {

class NcclComms {
public:
  static constexpr std::chrono::milliseconds kGraceTime{1000};
  static constexpr std::chrono::seconds kEndTime{5};

  // Of the GPU `device`. Libraries are never closed.
  NcclComms(const cuda::Nccl &nccl, const cuda::Driver &driver, int device);
  ~NcclComms();
  NcclComms(const NcclComms &) = delete;
  NcclComms &operator=(const NcclComms &) = delete;

  class Use {
  public:
    explicit Use(NcclComms &comms) : comms_(comms), isOpen_(comms.enter()) {}
    ~Use() {
      if (isOpen_)
        comms_.leave();
    }
    Use(const Use &) = delete;
    Use &operator=(const Use &) = delete;
    explicit operator bool() const { return isOpen_; }

  private:
    NcclComms &comms_;
    bool isOpen_;
  };

  const cuda::Nccl &nccl() const { return nccl_; }
  // Takes a communicator that was made; false, and it is aborted at once, where the others have been.
  bool keep(cuda::Handle comm);
  // The first one; null where there is none, or no longer.
  cuda::Handle first() const;
  // The first error that NCCL tells of one of them; 0: none.
  cuda::Result error();
  // Begins to end what waits in them, of all at the same time. Only the first call of it does something.
  void abort();

private:
  bool enter();
  void leave();
  void beginAbort(cuda::Handle comm) const;

  const cuda::Nccl &nccl_;
  const cuda::Driver &driver_;
  const int device_;
  mutable std::mutex mutex_; // what follows
  std::condition_variable changed_;
  std::vector<cuda::Handle> comms_;
  unsigned uses_ = 0;
  bool isAborted_ = false;
};

} // namespace cleave::rt

#endif

// Communicators of NCCL that several threads call, and that any of them may abort at any time.
//
//   NcclComms::Use use(*comms);                       // abort() waits until it ends
//   if (!use)
//     return ...;                                     // aborted: NCCL must not be called with them any more
//   nccl.allReduce(..., comm, stream);                // or launch a graph that has captured one
//
// NCCL frees a communicator that is aborted, just like one that is destroyed. Before that it waits, without a limit,
// until the graphs that have captured it are destroyed (NCCL 2.18 to 2.30, src/init.cc, commReclaim). If several ranks
// of a communicator are in one process, the last one to end it waits for the graphs of all. So abort() does not wait
// for NCCL's aborts. Each runs on its own thread.
//
//   comms->abort();      // the kernels of all communicators end
//   ...                  // now streams are synchronized, and graphs are destroyed
//   comms.reset();       // the last object of this process waits for all aborts, for at most kEndTime
//
// Invariants:
//
// 1. A call with a communicator begins only under a Use, and no Use begins after abort() has begun.
// 2. abort() frees no communicator while a Use lives, except if the Use lives longer than kGraceTime. Then its thread
//    waits inside NCCL for a rank that never comes, and only the abort wakes it.
// 3. Each communicator is freed once: by abort(), or by the destructor (the last one first).
// 4. They are shared. Every thread that may still call NCCL, such as one that was left behind (WatchedCall.h), owns
//    them too.
// 5. A thread that owns a graph waits neither for an abort nor for a thread that does. The thread of an abort holds its
//    GPU's context until the abort has ended, and uses nothing else but NCCL.
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

  // For communicators of the GPU `device`. The libraries are never closed.
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
  // Adds a new communicator. If the others have been aborted, it aborts this one at once and returns false.
  bool keep(cuda::Handle comm);
  // The first one. Null if there is none, or if they were aborted.
  cuda::Handle first() const;
  // Returns the first error that NCCL reports for one of them. 0: none.
  cuda::Result error();
  // Begins to abort all communicators at the same time. Only the first call does anything.
  void abort();

private:
  bool enter();
  void leave();
  void beginAbort(cuda::Handle comm) const;

  const cuda::Nccl &nccl_;
  const cuda::Driver &driver_;
  const int device_;
  mutable std::mutex mutex_; // guards all below
  std::condition_variable changed_;
  std::vector<cuda::Handle> comms_;
  unsigned uses_ = 0;
  bool isAborted_ = false;
};

} // namespace cleave::rt

#endif

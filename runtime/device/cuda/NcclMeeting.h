// How processes that no MPI has started get to know NCCL's id of their communicator: rank 0 listens at the meeting
// point and tells it to the others, over TCP.
//
//   the others   question: who I am, and one of how many     ack: I have it
//   rank 0       answer: the id, or why there is none (another number of processes, two of one rank)
//
// Ranks come in any order: who finds nobody listening tries again. A rank that was answered and did not say so (it has
// died, or is no rank at all) may come again. Both sides go on until the caller says that it is over.
//
// Rejected: NCCL_COMM_ID, set by this process, by which NCCL does the same. setenv() beside another thread that reads
// the environment is a race, and a program that uses Cleave as a library has other threads. And NCCL gives up when rank
// 0 comes 20 s late, before version 2.24.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_NCCLMEETING_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_NCCLMEETING_H

#include "runtime/comm/Launcher.h"
#include "runtime/device/cuda/Driver.h"

#include <functional>
#include <set>
#include <string>

namespace cleave::rt {

class NcclMeeting {
public:
  // `isOver` is asked at least once in a second; `say` is told again and again what is waited for.
  // Where it is over, both return without an error: the caller knows why.
  NcclMeeting(const MeetingPoint &point, int rank, int size, std::function<bool()> isOver,
              std::function<void(const std::string &)> say)
      : point_(point), rank_(rank), size_(size), isOver_(std::move(isOver)), say_(std::move(say)) {}

  // Of rank 0: all others have it then.
  Status tell(const cuda::NcclId &id);
  // Of the others.
  Status ask(cuda::NcclId *id);

private:
  Status answer(int socket, const cuda::NcclId &id, std::set<int> *told) const;
  Status askOnce(cuda::NcclId *id, bool *isDone, std::string *detail) const;
  std::string missing(const std::set<int> &told) const;

  const MeetingPoint &point_;
  const int rank_, size_;
  const std::function<bool()> isOver_;
  const std::function<void(const std::string &)> say_;
};

} // namespace cleave::rt

#endif

#include "runtime/device/cuda/NcclMeeting.h"

#include "runtime/base/Log.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace cleave::rt {

using cuda::checkNccl;

namespace {

constexpr const char *kVariable = "NCCL_COMM_ID";
constexpr std::chrono::milliseconds kPause{50};    // between two attempts of NCCL
constexpr int kInvalidUsage = 5, kRemoteError = 6; // ncclResult_t

// Returns 0 if the system does not say.
size_t threadsOfThisProcess() {
  std::error_code error;
  std::filesystem::directory_iterator threads("/proc/self/task", error), end;
  size_t count = 0;
  for (; !error && threads != end; threads.increment(error))
    ++count;
  return error ? 0 : count;
}

} // namespace

Status NcclMeeting::open() const {
  if (envString(kVariable) == point_.address)
    return Status::ok();
  std::string wanted = std::string(kVariable) + "=" + point_.address + " (" + point_.source + ")";
  size_t threads = threadsOfThisProcess();
  if (threads != 1)
    return invalidArgument(std::string(kVariable) + " is not set, and this process " +
                           (threads ? "has " + std::to_string(threads) + " threads" : "may have several threads") +
                           ", and it is not safe to set it while others run; start all processes with " + wanted +
                           ", or create the session before other threads");
  if (::setenv(kVariable, point_.address.c_str(), 1) != 0)
    return internal("the environment has no room for " + wanted);
  return Status::ok();
}

std::string NcclMeeting::awaited() const {
  return "the other ranks at " + point_.address + " (" + point_.source + "): all " + std::to_string(size_) +
         " processes must be started, and have the same address";
}

Status NcclMeeting::join(const cuda::Nccl &nccl, const std::function<bool()> &isOver,
                         const std::function<void(const std::string &)> &say, cuda::Handle *comm) const {
  cuda::NcclId id = {};
  CLEAVE_TRY(checkNccl(nccl.uniqueId(&id), "ncclGetUniqueId"));
  for (;;) {
    cuda::Result result = nccl.init(comm, size_, id, rank_);
    Status status = checkNccl(result, "ncclCommInitRank");
    if (result != 0 && *comm) { // NCCL leaves the unfinished communicator to the caller
      nccl.abort(*comm);
      *comm = nullptr;
    }
    bool mayComeLater = rank_ != 0 && result == kRemoteError;
    if (!mayComeLater || isOver())
      return explain(result, std::move(status));
    say(awaited() + "; " + status.message());
    std::this_thread::sleep_for(kPause);
  }
}

Status NcclMeeting::explain(cuda::Result result, Status status) const {
  if (status.isOk())
    return status;
  if (result == kInvalidUsage)
    return invalidArgument(status.message() +
                           "; most often two processes share a GPU, which NCCL refuses: start one process for each "
                           "GPU, or start them by mpirun, under which processes may share one. Otherwise "
                           "NCCL_DEBUG=WARN makes NCCL say more");
  return peerLost(status.message() + "; ranks meet at " + point_.address + " (" + point_.source +
                  "), where rank 0 listens; if another program has that port, CLEAVE_COMM_PORT gives all processes "
                  "another one; NCCL_DEBUG=WARN makes NCCL say more");
}

} // namespace cleave::rt

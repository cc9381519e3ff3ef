#include "runtime/comm/MpiCommunicator.h"

#include "runtime/base/Log.h"
#include "runtime/comm/mpi/MpiApi.h"

#include <climits>
#include <dlfcn.h>
#include <mutex>
#include <unistd.h>
#include <vector>

namespace cleave::rt {

namespace {

constexpr const char *kModule = "libcleave_comm_mpi.so";

class MpiCommunicator : public Communicator {
public:
  MpiCommunicator(const cleave_mpi_api &api, int rank, int size) : Communicator(rank, size), api_(api) {}
  ~MpiCommunicator() override { api_.finalize(); }

  const char *transport() const override { return "mpi"; }

  // MPI has no way to hand a reason to the others: it is logged here, and the launcher ends the other processes.
  void abort(const Status &reason) override {
    log(LogLevel::Error, rank(), reason.message() + "; all ranks are stopped");
    api_.abort();
  }

  Status health() const override { return Status::ok(); }

protected:
  Status doExchange(const Exchange &step) override {
    cleave_mpi_exchange call = {step.to,
                                step.sendData,
                                step.sendBytes,
                                step.from,
                                step.receiveData,
                                step.receiveBytes,
                                static_cast<int>(step.channel),
                                timeoutSeconds()};
    char error[256] = "";
    if (api_.exchange(&call, error, sizeof(error)) == 0)
      return Status::ok();
    return peerLost("rank " + std::to_string(rank()) + ": " + error);
  }

private:
  const cleave_mpi_api &api_;
};

std::vector<std::string> modulePlaces() {
  std::string named = envString("CLEAVE_MPI_MODULE");
  if (!named.empty())
    return {named};
  char path[PATH_MAX];
  ssize_t length = ::readlink("/proc/self/exe", path, sizeof(path));
  std::string folder(path, length > 0 ? static_cast<size_t>(length) : 0);
  folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/') + 1);
  return {folder + kModule, folder + "../lib/" + kModule, kModule};
}

Status openModule(const cleave_mpi_api **api) {
  std::string reasons;
  for (const std::string &place : modulePlaces()) {
    // Global: Open MPI's own plug-ins look for its symbols.
    void *module = ::dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!module) {
      const char *reason = ::dlerror();
      reasons += std::string("\n  ") + (reason ? reason : place.c_str());
      continue;
    }
    auto entry = reinterpret_cast<const cleave_mpi_api *(*)()>(::dlsym(module, "cleave_mpi"));
    *api = entry ? entry() : nullptr;
    if (*api && (*api)->abi == CLEAVE_MPI_ABI)
      return Status::ok();
    return invalidArgument("'" + place + "' is not the MPI module of this runtime; reinstall both from one build");
  }
  return notFound(std::string("started under MPI, but the module ") + kModule +
                  " cannot be opened; put it beside the executable or name it by CLEAVE_MPI_MODULE:" + reasons);
}

} // namespace

bool startedUnderMpi() {
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PMIX_RANK"})
    if (!envString(name).empty())
      return true;
  return !envString("SLURM_PROCID").empty() && envNumber("SLURM_STEP_NUM_TASKS", 1) > 1;
}

Status createMpiCommunicator(std::unique_ptr<Communicator> *result) {
  static std::mutex mutex;
  static bool created = false;
  std::lock_guard<std::mutex> lock(mutex);
  if (created)
    return internal("the MPI world is joined once per process");
  const cleave_mpi_api *api = nullptr;
  CLEAVE_TRY(openModule(&api));
  int rank = 0, size = 0;
  char error[256] = "";
  if (api->init(&rank, &size, error, sizeof(error)) != 0)
    return ioError(error);
  created = true;
  *result = std::make_unique<MpiCommunicator>(*api, rank, size);
  return Status::ok();
}

} // namespace cleave::rt

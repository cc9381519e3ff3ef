#include "runtime/comm/MpiCommunicator.h"

#include "runtime/base/Log.h"
#include "runtime/comm/Membership.h"
#include "runtime/comm/PeerMonitor.h"
#include "runtime/comm/mpi/MpiApi.h"

#include <climits>
#include <dlfcn.h>
#include <mutex>
#include <optional>
#include <unistd.h>
#include <vector>

namespace cleave::rt {

namespace {

constexpr const char *kModule = "libcleave_comm_mpi.so";

constexpr int kBeatChannel = kAllChannels;
constexpr double kForever = 1e9; // the monitor has its own limits

Membership membership("mpirun or srun");
bool endsProcess = false;

class MpiCommunicator : public Communicator {
public:
  MpiCommunicator(const cleave_mpi_api &api, int rank, int size) : Communicator(rank, size), api_(api) {}

  // After a loss, and after a failed start(), the world cannot be left in order. The launcher then ends all its
  // processes.
  ~MpiCommunicator() override {
    if (monitor_)
      monitor_->stop();
    bool lost = !started_ || (monitor_ && monitor_->failed());
    char error[256] = "";
    if (!lost && api_.leave(timeoutSeconds(), error, sizeof(error)) != 0) {
      lost = true;
      log(LogLevel::Error, rank(), std::string("leaving the other ranks: ") + error);
    }
    membership.end(lost);
  }

  // Gathers the identities of the others, and starts the monitor.
  Status start() {
    std::vector<PeerIdentity> peers(static_cast<size_t>(size()));
    PeerIdentity self = PeerIdentity::self();
    char error[256] = "";
    if (api_.all_gather(&self, sizeof self, peers.data(), timeoutSeconds(), error, sizeof(error)) != 0)
      return peerLost(std::string("joining the other ranks: ") + error);
    CLEAVE_TRY(checkSameBeats(peers));
    if (size() > 1)
      monitor_ = std::make_unique<PeerMonitor>(
          rank(), std::move(peers),
          [this](const PeerMonitor::Beat *out, PeerMonitor::Beat *in, bool hurries,
                 const std::function<bool()> &giveUp) { return beat(out, in, hurries, giveUp); });
    started_ = true;
    return Status::ok();
  }

  const char *transport() const override { return "mpi"; }

  void abort(const Status &) override {
    if (monitor_)
      monitor_->fail();
  }

  Status health() const override { return monitor_ && monitor_->failed() ? monitor_->reason() : Status::ok(); }

protected:
  Status doExchange(const Exchange &step) override {
    CLEAVE_TRY(health());
    std::optional<PeerWait> wait; // none if there is only one process
    if (monitor_)
      wait.emplace(*monitor_);
    cleave_mpi_exchange call = {step.to,
                                step.sendData,
                                step.sendBytes,
                                step.from,
                                step.receiveData,
                                step.receiveBytes,
                                static_cast<int>(step.channel),
                                timeoutSeconds(),
                                0,
                                [](void *context, int from, int to) -> int {
                                  auto &wait = *static_cast<std::optional<PeerWait> *>(context);
                                  return wait && wait->isVain(from, to);
                                },
                                &wait};
    char error[256] = "";
    switch (api_.exchange(&call, error, sizeof(error))) {
    case 0:
      return Status::ok();
    case CLEAVE_MPI_GAVE_UP:
      return health();
    default:
      return peerLost("rank " + std::to_string(rank()) + ": " + error);
    }
  }

private:
  bool beat(const PeerMonitor::Beat *out, PeerMonitor::Beat *in, bool hurries, const std::function<bool()> &giveUp) {
    cleave_mpi_exchange call = {
        out ? (rank() + 1) % size() : -1,
        out,
        sizeof(PeerMonitor::Beat),
        in ? (rank() + size() - 1) % size() : -1,
        in,
        sizeof(PeerMonitor::Beat),
        kBeatChannel,
        kForever,
        /*poll_us=*/hurries ? 500 : 20000,
        [](void *context, int, int) -> int { return (*static_cast<const std::function<bool()> *>(context))(); },
        const_cast<std::function<bool()> *>(&giveUp)};
    char error[256] = "";
    return api_.exchange(&call, error, sizeof(error)) == 0;
  }

  const cleave_mpi_api &api_;
  std::unique_ptr<PeerMonitor> monitor_; // none if there is only one process
  bool started_ = false;
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
    // RTLD_GLOBAL, because Open MPI's own plug-ins need its symbols.
    void *module = ::dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!module) {
      const char *reason = ::dlerror();
      reasons += (reasons.empty() ? " " : "; ") + (reason ? std::string(reason) : place);
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

void endProcessIfMpiHangs() { endsProcess = true; }

Status createMpiCommunicator(std::unique_ptr<Communicator> *result) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  CLEAVE_TRY(membership.check());
  const cleave_mpi_api *api = nullptr;
  CLEAVE_TRY(openModule(&api));
  int rank = 0, size = 0;
  char error[256] = "";
  membership.begin();
  if (api->join(envNumber(kCommTimeout), endsProcess, &rank, &size, error, sizeof(error)) != 0) {
    membership.end(/*isLost=*/true);
    return ioError(error);
  }
  auto communicator = std::make_unique<MpiCommunicator>(*api, rank, size);
  CLEAVE_TRY(communicator->start());
  *result = std::move(communicator);
  return Status::ok();
}

} // namespace cleave::rt

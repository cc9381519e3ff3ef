#include "runtime/comm/Launcher.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Log.h"

#include <algorithm>
#include <cstdlib>

namespace cleave::rt {
namespace {

bool isSet(const char *name) { return !envString(name).empty(); }

// The first of these that is set; null: none.
template <size_t N> const char *firstSet(const char *const (&names)[N]) {
  auto found = std::find_if(std::begin(names), std::end(names), isSet);
  return found == std::end(names) ? nullptr : *found;
}

bool parseNumber(const std::string &text, uint64_t limit, uint64_t *number) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos)
    return false;
  *number = std::strtoull(text.c_str(), nullptr, 10);
  return *number <= limit;
}

uint64_t numberOf(const char *name) {
  uint64_t number = 0;
  return parseNumber(envString(name), UINT64_MAX, &number) ? number : 0;
}

// That there are others. What is no number is no launcher's: readTcpPlace() refuses it, and nobody trains alone by mistake.
bool saysSeveral(const char *name) {
  uint64_t number = 0;
  return isSet(name) && (!parseNumber(envString(name), UINT64_MAX, &number) || number > 1);
}

// Some programs set RANK for purposes of their own: a launcher says more.
bool hasRanks() {
  constexpr const char *kMore[] = {"TORCHELASTIC_RUN_ID", "LOCAL_RANK", "MASTER_ADDR", "NCCL_COMM_ID"};
  return firstSet(kMore) && isSet("RANK") && saysSeveral("WORLD_SIZE");
}

// In a batch script that srun has not started, the step has one task.
bool hasSlurmStep() { return isSet("SLURM_PROCID") && saysSeveral("SLURM_STEP_NUM_TASKS"); }

Launcher find() {
  constexpr const char *kPmi[] = {"PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PMIX_RANK"};
  if (isSet("OMPI_COMM_WORLD_SIZE"))
    return Launcher::Mpi;
  bool torchInSlurm = isSet("TORCHELASTIC_RUN_ID") && isSet("SLURM_PROCID") && hasRanks();
  if (firstSet(kPmi) && !torchInSlurm)
    return Launcher::Mpi;
  return hasRanks() || hasSlurmStep() ? Launcher::Tcp : Launcher::None;
}

Status readNumber(const char *name, uint64_t limit, uint64_t *number) {
  if (parseNumber(envString(name), limit, number))
    return Status::ok();
  return invalidArgument(std::string(name) + "='" + envString(name) + "': expected a number from 0 to " +
                         std::to_string(limit));
}

Status readPort(const char *name, unsigned further, TcpPlace *place) {
  uint64_t port = 0;
  CLEAVE_TRY(readNumber(name, 65535 - further, &port));
  if (port == 0)
    return invalidArgument(std::string(name) + "=0: expected the port that rank 0 is to listen at");
  place->port = static_cast<uint16_t>(port + further);
  place->portSource = further ? "the one after " + std::string(name) : name;
  return Status::ok();
}

// The first machine of Slurm's notation: "gpu[07-12,20],cpu3" is gpu07.
std::string firstMachine(const std::string &list) {
  std::string first = list.substr(0, list.find_first_of(",["));
  if (first.size() < list.size() && list[first.size()] == '[') {
    size_t begin = first.size() + 1;
    first += list.substr(begin, list.find_first_of(",-]", begin) - begin);
  }
  return first;
}

Status readMeetingPoint(bool isSlurm, TcpPlace *place) {
  std::string id = envString("NCCL_COMM_ID");
  size_t colon = id.rfind(':');
  constexpr const char *kLists[] = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"};
  const char *list = firstSet(kLists);
  place->host = envString("MASTER_ADDR");
  bool byId = place->host.empty() && colon != std::string::npos;
  if (byId)
    place->host = id.substr(0, colon);
  else if (place->host.empty() && isSlurm && list)
    place->host = firstMachine(envString(list));
  if (place->host.size() > 2 && place->host.front() == '[' && place->host.back() == ']') // an IPv6 address
    place->host = place->host.substr(1, place->host.size() - 2);
  if (place->host.empty())
    return invalidArgument("started as one of several processes (" + place->variables +
                           "), but MASTER_ADDR, the machine of rank 0, is not set; torchrun sets it, and so do scripts that "
                           "start processes; a process that is to run alone needs RANK and WORLD_SIZE unset");
  if (isSet("CLEAVE_COMM_PORT"))
    return readPort("CLEAVE_COMM_PORT", 0, place);
  if (isSet("MASTER_PORT"))
    return readPort("MASTER_PORT", envString("TORCHELASTIC_USE_AGENT_STORE") == "True" ? 1 : 0, place);
  uint64_t port = 0;
  if (byId && parseNumber(id.substr(colon + 1), 65534, &port) && port > 0) {
    place->port = static_cast<uint16_t>(port + 1);
    place->portSource = "the one after that of NCCL_COMM_ID";
    return Status::ok();
  }
  if (isSlurm) {
    place->port = static_cast<uint16_t>(20000 + (numberOf("SLURM_JOB_ID") * 31 + numberOf("SLURM_STEP_ID")) % 10000);
    place->portSource = "of the Slurm step";
    return Status::ok();
  }
  return invalidArgument("started as one of several processes (" + place->variables +
                         "), but MASTER_PORT, the port that rank 0 listens at, is not set");
}

} // namespace

Launcher launcher() {
  std::string asked = envString("CLEAVE_COMM");
  if (asked == "mpi")
    return Launcher::Mpi;
  if (asked == "tcp")
    return hasRanks() || hasSlurmStep() ? Launcher::Tcp : Launcher::None;
  return find();
}

Status readTcpPlace(TcpPlace *place) {
  bool isSlurm = !hasRanks();
  const char *rankName = isSlurm ? "SLURM_PROCID" : "RANK";
  const char *sizeName = isSlurm ? "SLURM_STEP_NUM_TASKS" : "WORLD_SIZE";
  place->variables = std::string(rankName) + "=" + envString(rankName) + ", " + sizeName + "=" + envString(sizeName);
  constexpr uint64_t kMostRanks = 1 << 20;
  uint64_t rank = 0, size = 0;
  CLEAVE_TRY(readNumber(sizeName, kMostRanks, &size));
  CLEAVE_TRY(readNumber(rankName, size - 1, &rank));
  place->rank = static_cast<int>(rank);
  place->size = static_cast<int>(size);
  // Not the number of restarts: torchrun's agents count their own.
  std::string run;
  for (const char *name : {"TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "SLURM_STEP_ID"})
    run += envString(name) + '\n';
  place->run = fnv1a(run);
  return readMeetingPoint(isSlurm, place);
}

int placeOnMachine(int rank) {
  constexpr const char *kMpi[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK",
                                  "SLURM_LOCALID"};
  Launcher by = launcher();
  const char *name = nullptr;
  if (by == Launcher::Mpi)
    name = firstSet(kMpi);
  else if (by == Launcher::Tcp)
    name = !hasRanks() ? "SLURM_LOCALID" : "LOCAL_RANK";
  uint64_t number = 0;
  return name && parseNumber(envString(name), 1 << 20, &number) ? static_cast<int>(number) : rank;
}

} // namespace cleave::rt

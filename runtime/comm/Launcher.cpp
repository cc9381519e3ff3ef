#include "runtime/comm/Launcher.h"

#include "runtime/base/Log.h"
#include "runtime/base/OptionText.h"

#include <algorithm>

namespace cleave::rt {
namespace {

constexpr uint64_t kLastPort = 65535;
constexpr const char *kOpenMpi = "OMPI_COMM_WORLD_SIZE";
constexpr const char *kPmi[] = {"PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PMIX_RANK"};

bool isSet(const char *name) { return !envString(name).empty(); }

// The first of these variables that is set, or null.
template <size_t N> const char *firstSet(const char *const (&names)[N]) {
  auto found = std::find_if(std::begin(names), std::end(names), isSet);
  return found == std::end(names) ? nullptr : *found;
}

bool parseNumber(const std::string &text, uint64_t limit, uint64_t *number) {
  return parseUnsigned(text, number) && *number <= limit;
}

uint64_t numberOf(const char *name) {
  uint64_t number = 0;
  return parseNumber(envString(name), UINT64_MAX, &number) ? number : 0;
}

// True if the number is above `most`. A value that is no number counts as more, so that readLauncherRank() refuses it.
bool saysMoreThan(uint64_t most, const char *name) {
  uint64_t number = 0;
  return isSet(name) && (!parseNumber(envString(name), UINT64_MAX, &number) || number > most);
}

// Some programs set RANK or WORLD_SIZE for other purposes. One of the two counts only if a variable of kMore is set too.
bool hasTorchRanks() {
  constexpr const char *kMore[] = {"TORCHELASTIC_RUN_ID", "LOCAL_RANK", "MASTER_ADDR", "NCCL_COMM_ID"};
  bool isSizeSet = isSet("WORLD_SIZE"), isOneOfSeveral = saysMoreThan(1, "WORLD_SIZE");
  if (isSet("RANK") && isSizeSet)
    return isOneOfSeveral;
  return firstSet(kMore) && (isOneOfSeveral || (isSet("RANK") && !isSizeSet));
}

// In a batch script that srun has not started, the step has one task, or its number of tasks is not set.
bool hasSlurmStep() {
  return saysMoreThan(1, "SLURM_STEP_NUM_TASKS") || (saysMoreThan(0, "SLURM_PROCID") && !isSet("SLURM_STEP_NUM_TASKS"));
}

Status readNumber(const char *name, uint64_t limit, uint64_t *number) {
  if (parseNumber(envString(name), limit, number))
    return Status::ok();
  return invalidArgument(std::string(name) + "='" + envString(name) + "': expected a number from 0 to " +
                         std::to_string(limit));
}

Status readPort(const char *name, unsigned further, uint64_t *port) {
  CLEAVE_TRY(readNumber(name, kLastPort - further, port));
  if (*port == 0)
    return invalidArgument(std::string(name) + "=0: expected the port that rank 0 is to listen at");
  *port += further;
  return Status::ok();
}

// The first machine of a list in Slurm's notation: "gpu[07-12,20],cpu3" begins with gpu07.
std::string firstMachine(const std::string &list) {
  std::string first = list.substr(0, list.find_first_of(",["));
  if (first.size() < list.size() && list[first.size()] == '[') {
    size_t begin = first.size() + 1;
    first += list.substr(begin, list.find_first_of(",-]", begin) - begin);
  }
  return first;
}

Status missing(const LauncherRank &launched, const std::string &what) {
  return invalidArgument("started as one of several processes (" + launched.variables + "), but " + what +
                         "; a process that is to run alone needs " + launched.unset + " unset");
}

Status readMachine(const LauncherRank &launched, MeetingPoint *point) {
  constexpr const char *kLists[] = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"};
  point->address = envString("MASTER_ADDR");
  point->source = "MASTER_ADDR";
  if (const char *list = firstSet(kLists); point->address.empty() && list && launcher() == Launcher::Slurm) {
    point->address = firstMachine(envString(list));
    point->source = "the first machine of " + std::string(list);
  }
  if (point->address.empty())
    return missing(launched, "MASTER_ADDR, the machine of rank 0, is not set; torchrun sets it, and so do scripts that "
                             "start processes");
  if (point->address.front() != '[' && point->address.find(':') != std::string::npos) // an IPv6 address
    point->address = "[" + point->address + "]";
  return Status::ok();
}

Status readPort(const LauncherRank &launched, MeetingPoint *point) {
  uint64_t port = 0;
  if (isSet("CLEAVE_COMM_PORT")) {
    CLEAVE_TRY(readPort("CLEAVE_COMM_PORT", 0, &port));
    point->source += " and CLEAVE_COMM_PORT";
  } else if (isSet("MASTER_PORT")) {
    CLEAVE_TRY(readPort("MASTER_PORT", 1, &port));
    point->source += " and the port after MASTER_PORT";
  } else if (launcher() == Launcher::Slurm) {
    port = 20000 + (numberOf("SLURM_JOB_ID") * 31 + numberOf("SLURM_STEP_ID")) % 10000;
    point->source += " and a port by the Slurm step";
  } else {
    return missing(launched, "MASTER_PORT is not set; rank 0 listens at the port after it, or at CLEAVE_COMM_PORT");
  }
  point->address += ":" + std::to_string(port);
  return Status::ok();
}

} // namespace

std::string mpiVariables() {
  std::string text;
  for (const char *name : {kOpenMpi, kPmi[0], kPmi[1], kPmi[2]})
    if (isSet(name))
      text += (text.empty() ? "" : " and ") + std::string(name);
  return text;
}

Launcher launcher() {
  if (isSet(kOpenMpi))
    return Launcher::Mpi;
  bool torchInSlurm = isSet("TORCHELASTIC_RUN_ID") && isSet("SLURM_PROCID") && hasTorchRanks();
  if (firstSet(kPmi) && !torchInSlurm)
    return Launcher::Mpi;
  return hasTorchRanks() ? Launcher::Torchrun : hasSlurmStep() ? Launcher::Slurm : Launcher::None;
}

Status readLauncherRank(LauncherRank *launched) {
  bool isSlurm = launcher() == Launcher::Slurm;
  const char *rankName = isSlurm ? "SLURM_PROCID" : "RANK", *sizeName = isSlurm ? "SLURM_STEP_NUM_TASKS" : "WORLD_SIZE";
  launched->unset = std::string(rankName) + " and " + sizeName;
  for (const char *name : {rankName, sizeName})
    if (isSet(name))
      launched->variables += (launched->variables.empty() ? "" : ", ") + std::string(name) + "=" + envString(name);
  for (const char *name : {rankName, sizeName})
    if (!isSet(name))
      return missing(*launched, std::string(name) + " is not set");
  constexpr uint64_t kMostRanks = 1 << 20;
  uint64_t rank = 0, size = 0;
  CLEAVE_TRY(readNumber(sizeName, kMostRanks, &size));
  CLEAVE_TRY(readNumber(rankName, size - 1, &rank));
  launched->rank = static_cast<int>(rank);
  launched->size = static_cast<int>(size);
  return Status::ok();
}

Status readMeetingPoint(const LauncherRank &launched, MeetingPoint *point) {
  std::string own = envString("NCCL_COMM_ID");
  if (own.empty()) {
    CLEAVE_TRY(readMachine(launched, point));
    return readPort(launched, point);
  }
  *point = {own, "NCCL_COMM_ID"};
  size_t colon = own.rfind(':');
  uint64_t port = 0;
  if (colon != std::string::npos && colon > 0 && parseNumber(own.substr(colon + 1), kLastPort, &port) && port > 0)
    return Status::ok();
  return invalidArgument("NCCL_COMM_ID='" + own + "': expected the address and port of rank 0, such as node0:29501 or "
                         "[::1]:29501");
}

int localRank(int rank) {
  constexpr const char *kMpi[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK",
                                  "SLURM_LOCALID"};
  Launcher by = launcher();
  const char *name = by == Launcher::Mpi        ? firstSet(kMpi)
                     : by == Launcher::Torchrun ? "LOCAL_RANK"
                     : by == Launcher::Slurm    ? "SLURM_LOCALID"
                                                : nullptr;
  uint64_t number = 0;
  return name && parseNumber(envString(name), 1 << 20, &number) ? static_cast<int>(number) : rank;
}

} // namespace cleave::rt

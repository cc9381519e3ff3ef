#include "runtime/session/HostResources.h"

#include "runtime/base/Counted.h"
#include "runtime/session/MemoryUsage.h"

#include <sched.h>
#include <thread>
#include <unistd.h>

namespace cleave::rt {

HostResources HostResources::here() {
  HostResources resources;
  cpu_set_t set;
  bool known = ::sched_getaffinity(0, sizeof set, &set) == 0;
  resources.cores = known ? static_cast<unsigned>(CPU_COUNT(&set)) : std::thread::hardware_concurrency();
  long all = ::sysconf(_SC_NPROCESSORS_ONLN);
  resources.coresOfAll = all > 0 ? static_cast<unsigned>(all) : 0;
  long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && bytes > 0)
    resources.memoryBytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(bytes);
  return resources;
}

std::vector<std::string> resourceNotes(const Demand &demand, const HostResources &resources) {
  std::vector<std::string> notes;
  uint64_t threads = uint64_t{demand.ranks} * demand.threadsPerRank;
  if (demand.threadsPerRank > 1 && resources.cores != 0 && threads > resources.cores)
    notes.push_back((demand.ranks == 1
                         ? counted(demand.threadsPerRank, "compute thread")
                         : counted(demand.ranks, "rank") + " of " + counted(demand.threadsPerRank, "compute thread")) +
                    " share " + counted(resources.cores, "core") + ": steps take longer than with " +
                    (demand.ranks >= resources.cores ? "--threads 1"
                                                     : "--threads " + std::to_string(resources.cores / demand.ranks)));
  if (demand.threadsOfPlan > resources.cores && resources.cores < resources.coresOfAll)
    notes.push_back("this process may use " + std::to_string(resources.cores) + " of " +
                    counted(resources.coresOfAll, "core") + ", and its rank computes on " +
                    counted(demand.threadsOfPlan, "thread") +
                    ": steps take much longer. Let the launcher give it more cores (mpirun --bind-to none, "
                    "srun --cpus-per-task), or give --threads " +
                    std::to_string(resources.cores));
  if (resources.memoryBytes != 0 && demand.plannedBytes > resources.memoryBytes)
    notes.push_back("the plan takes " + formatBytes(demand.plannedBytes) + " and this machine has " +
                    formatBytes(resources.memoryBytes) +
                    " of memory: the system may end the program; compile with a smaller --dim batch, --recompute, a "
                    "larger mesh, or --memory-limit to see what helps");
  return notes;
}

} // namespace cleave::rt

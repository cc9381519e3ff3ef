#include "runtime/session/Machine.h"

#include "runtime/session/MemoryUsage.h"

#include <sched.h>
#include <thread>
#include <unistd.h>

namespace cleave::rt {

Machine Machine::here() {
  Machine machine;
  cpu_set_t set;
  bool known = ::sched_getaffinity(0, sizeof set, &set) == 0;
  machine.cores = known ? static_cast<unsigned>(CPU_COUNT(&set)) : std::thread::hardware_concurrency();
  long all = ::sysconf(_SC_NPROCESSORS_ONLN);
  machine.coresOfAll = all > 0 ? static_cast<unsigned>(all) : 0;
  long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && bytes > 0)
    machine.memoryBytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(bytes);
  return machine;
}

std::vector<std::string> machineNotes(const Demand &demand, const Machine &machine) {
  std::vector<std::string> notes;
  uint64_t threads = uint64_t{demand.ranks} * demand.threadsPerRank;
  if (demand.threadsPerRank > 1 && machine.cores != 0 && threads > machine.cores)
    notes.push_back(
        (demand.ranks == 1 ? std::to_string(demand.threadsPerRank) + " compute threads"
                           : std::to_string(demand.ranks) + " ranks of " + std::to_string(demand.threadsPerRank) +
                                 " compute threads") +
        " share " + std::to_string(machine.cores) + (machine.cores == 1 ? " core" : " cores") +
        ": steps take longer than with " +
        (demand.ranks >= machine.cores ? "--threads 1" : "--threads " + std::to_string(machine.cores / demand.ranks)));
  if (demand.threadsOfPlan > machine.cores && machine.cores < machine.coresOfAll)
    notes.push_back("this process may use " + std::to_string(machine.cores) + " of " +
                    std::to_string(machine.coresOfAll) + " cores, and its rank computes on " +
                    std::to_string(demand.threadsOfPlan) +
                    " threads: steps take much longer. Let the launcher give it more cores (mpirun --bind-to none, "
                    "srun --cpus-per-task), or give --threads " +
                    std::to_string(machine.cores));
  if (machine.memoryBytes != 0 && demand.plannedBytes > machine.memoryBytes)
    notes.push_back("the plan takes " + formatBytes(demand.plannedBytes) + " and this machine has " +
                    formatBytes(machine.memoryBytes) +
                    " of memory: the system may end the program; compile with a smaller --dim batch, --recompute, a "
                    "larger mesh, or --memory-limit to see what helps");
  return notes;
}

} // namespace cleave::rt

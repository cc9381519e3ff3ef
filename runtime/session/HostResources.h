// Warns before the first step if a run needs more cores or memory than this machine has. Nothing that happens later
// would show it.
#ifndef CLEAVE_RUNTIME_SESSION_HOSTRESOURCES_H
#define CLEAVE_RUNTIME_SESSION_HOSTRESOURCES_H

#include <cstdint>
#include <string>
#include <vector>

namespace cleave::rt {

struct HostResources {
  unsigned cores = 1;       // cores that this process may use
  uint64_t memoryBytes = 0; // 0: not known
  unsigned coresOfAll = 0;  // cores of the machine; 0: not known

  static HostResources here();
};

// The ranks of a process, and the resources of each.
struct Demand {
  unsigned ranks = 1, threadsPerRank = 1;
  uint64_t plannedBytes = 0;  // of all ranks
  unsigned threadsOfPlan = 0; // as compiled, if the rank is a process and no number was given; else 0
};

// Returns a line for each shortage. More ranks than cores are no mistake by themselves: people try a mesh on a laptop.
// Launchers bind processes to cores (mpirun binds each to one core if there are two processes), which users of threads
// do not expect.
std::vector<std::string> resourceNotes(const Demand &demand, const HostResources &resources);

} // namespace cleave::rt

#endif

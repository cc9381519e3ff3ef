// What a run asks of this machine that it has not: told before the first step, since nothing that comes later says so.
#ifndef CLEAVE_RUNTIME_SESSION_HOSTRESOURCES_H
#define CLEAVE_RUNTIME_SESSION_HOSTRESOURCES_H

#include <cstdint>
#include <string>
#include <vector>

namespace cleave::rt {

struct HostResources {
  unsigned cores = 1;       // that this process may use
  uint64_t memoryBytes = 0; // 0: not known
  unsigned coresOfAll = 0;  // that any process may use; 0: not known

  static HostResources here();
};

// The ranks of one process and what each of them takes.
struct Demand {
  unsigned ranks = 1, threadsPerRank = 1;
  uint64_t plannedBytes = 0;  // of all ranks
  unsigned threadsOfPlan = 0; // of a rank that is a process of its own, and for which nobody gave another number
};

// A line for each. Ranks alone beyond the cores are nobody's mistake: a mesh is tried out on a laptop. Launchers bind
// processes to cores (mpirun to one each, where there are two), which users of threads do not expect.
std::vector<std::string> resourceNotes(const Demand &demand, const HostResources &resources);

} // namespace cleave::rt

#endif

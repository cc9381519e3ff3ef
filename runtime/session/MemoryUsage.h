// The memory of this process as the kernel counts it, for comparison with the prediction of the plan.
#ifndef CLEAVE_RUNTIME_SESSION_MEMORYUSAGE_H
#define CLEAVE_RUNTIME_SESSION_MEMORYUSAGE_H

#include <cstdint>
#include <string>

namespace cleave::rt {

struct MemoryUsage {
  uint64_t resident = 0; // VmRSS, bytes
  uint64_t peak = 0;     // VmHWM, bytes
};

// Reads /proc/self/status. Returns zeros if it cannot be read.
MemoryUsage memoryUsage();

// Returns a text such as "12.3 MiB". Sizes from 512 MiB to 10 GiB are in MiB too, so that a tenth is far below the
// differences of interest.
std::string formatBytes(uint64_t bytes);

} // namespace cleave::rt

#endif

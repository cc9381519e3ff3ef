// The memory of this process as the kernel counts it, to set beside what the plan predicted.
#ifndef CLEAVE_RUNTIME_SESSION_MEMORYUSAGE_H
#define CLEAVE_RUNTIME_SESSION_MEMORYUSAGE_H

#include <cstdint>
#include <string>

namespace cleave::rt {

struct MemoryUsage {
  uint64_t resident = 0; // VmRSS, bytes
  uint64_t peak = 0;     // VmHWM, bytes
};

// From /proc/self/status; zeros where there is none.
MemoryUsage memoryUsage();

// "12.3 MiB". Up to 10 GiB in MiB, so that the tenth is always far below what is compared.
std::string formatBytes(uint64_t bytes);

} // namespace cleave::rt

#endif

#include "runtime/train/MemoryUsage.h"

#include <cstdio>
#include <iterator>

namespace cleave::rt {

MemoryUsage memoryUsage() {
  MemoryUsage usage;
  std::FILE *file = std::fopen("/proc/self/status", "re");
  if (!file)
    return usage;
  char line[256];
  unsigned long long kib = 0;
  while (std::fgets(line, sizeof line, file)) {
    if (std::sscanf(line, "VmRSS: %llu kB", &kib) == 1)
      usage.resident = kib << 10;
    else if (std::sscanf(line, "VmHWM: %llu kB", &kib) == 1)
      usage.peak = kib << 10;
  }
  std::fclose(file);
  return usage;
}

std::string formatBytes(uint64_t bytes) {
  static constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  unsigned unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

} // namespace cleave::rt

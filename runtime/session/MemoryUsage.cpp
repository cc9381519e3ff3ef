#include "runtime/session/MemoryUsage.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <unistd.h>

namespace cleave::rt {

// By hand and without a stream: it is called in every step, where nothing may be allocated.
MemoryUsage memoryUsage() {
  MemoryUsage usage;
  int fd = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return usage;
  char text[4096];
  ssize_t size = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  text[size > 0 ? size : 0] = '\0';
  auto field = [&](const char *name) -> uint64_t {
    const char *line = std::strstr(text, name);
    unsigned long long kib = 0;
    return line && std::sscanf(line + std::strlen(name), "%llu", &kib) == 1 ? kib << 10 : 0;
  };
  usage.resident = field("VmRSS:");
  usage.peak = field("VmHWM:");
  return usage;
}

std::string formatBytes(uint64_t bytes) {
  static constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  unsigned unit = 0;
  for (; value >= (unit < 2 ? 1024 : 10240) && unit + 1 < std::size(kUnits); ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

} // namespace cleave::rt

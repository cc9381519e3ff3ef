#include "runtime/session/MemoryUsage.h"

#include "runtime/base/HumanUnits.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace cleave::rt {

// Reads without a stream, because it is called in every step, where nothing may be allocated.
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
  constexpr uint64_t kHalfTenth = (uint64_t{1} << 20) / 20; // less than this below 10 GiB would be "10240.0 MiB"
  if (bytes < uint64_t{512} << 20 || bytes >= (uint64_t{10} << 30) - kHalfTenth)
    return bytesText(bytes);
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

} // namespace cleave::rt

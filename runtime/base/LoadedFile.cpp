#include "runtime/base/LoadedFile.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace cleave::rt {

std::string loadedFile(const void *address) {
  constexpr std::string_view kDeleted = " (deleted)"; // the file has been replaced or removed since
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    char *rest = nullptr;
    uintptr_t begin = std::strtoull(line.c_str(), &rest, 16);
    uintptr_t end = *rest == '-' ? std::strtoull(rest + 1, nullptr, 16) : 0;
    size_t path = line.find('/');
    if (wanted < begin || wanted >= end || path == std::string::npos)
      continue;
    size_t deleted = line.rfind(kDeleted);
    if (deleted != std::string::npos && deleted + kDeleted.size() == line.size())
      line.resize(deleted);
    return line.substr(path);
  }
  return "";
}

} // namespace cleave::rt

#include "runtime/base/LoadedFile.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace cleave::rt {

// The kernel writes a line break of a name as "\012", and a backslash as it is. So a name that has these four characters
// itself cannot be told from it; the file that is there decides.
static std::string withLineBreaks(std::string path) {
  constexpr std::string_view kLineBreak = "\\012";
  std::error_code none;
  if (path.find(kLineBreak) == std::string::npos || std::filesystem::exists(path, none))
    return path;
  for (size_t at = 0; (at = path.find(kLineBreak, at)) != std::string::npos; ++at)
    path.replace(at, kLineBreak.size(), "\n");
  return path;
}

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
    return withLineBreaks(line.substr(path));
  }
  return "";
}

} // namespace cleave::rt

#include "tools/cleave/ThrowingPlugin.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <filesystem>

static std::vector<std::string> &watched() {
  static std::vector<std::string> files;
  return files;
}

void cleave::watchPlugins(const std::vector<std::string> &files) { watched() = files; }

std::string cleave::pluginOnStack() {
  constexpr int kMostFrames = 1024;
  void *frames[kMostFrames];
  for (int i = 0, count = ::backtrace(frames, kMostFrames); i < count; ++i) {
    Dl_info info;
    if (::dladdr(frames[i], &info) == 0 || !info.dli_fname)
      continue;
    for (const std::string &file : watched())
      if (std::error_code code; std::filesystem::equivalent(file, info.dli_fname, code))
        return file;
  }
  return "";
}

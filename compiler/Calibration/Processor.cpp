#include "compiler/Calibration/Calibrate.h"
#include "runtime/session/HostResources.h"

#include <fstream>
#include <map>

namespace cleave::calibration {

// The lines about the first processor in /proc/cpuinfo, such as "model name : AMD EPYC".
static std::map<std::string, std::string> processorFacts() {
  std::ifstream file("/proc/cpuinfo");
  std::map<std::string, std::string> facts;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    size_t colon = line.find(':');
    if (colon == std::string::npos)
      continue;
    std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    size_t begin = line.find_first_not_of(" \t", colon + 1);
    facts[key] = begin == std::string::npos ? "" : line.substr(begin);
  }
  return facts;
}

std::string processorName() {
  std::map<std::string, std::string> facts = processorFacts();
  std::string name = facts["model name"];
  if (name.empty()) // processors of other makers
    for (const char *key : {"CPU implementer", "CPU architecture", "CPU part", "CPU revision"})
      name += facts[key].empty() ? "" : (name.empty() ? "" : " ") + std::string(key + 4) + " " + facts[key];
  for (const char *key : {"cpu family", "model", "stepping"})
    if (!facts[key].empty())
      name += std::string(", ") + (key == std::string("cpu family") ? "family" : key) + " " + facts[key];
  return name.empty() ? "an unknown processor" : name;
}

unsigned usableCores() { return std::max(rt::HostResources::here().cores, 1u); }

} // namespace cleave::calibration

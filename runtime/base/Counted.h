// Counts with their noun: "1 rank", "2 ranks", "3 processes"; shares as "97.66%".
#ifndef CLEAVE_RUNTIME_BASE_COUNTED_H
#define CLEAVE_RUNTIME_BASE_COUNTED_H

#include <cstdint>
#include <cstdio>
#include <string>

namespace cleave::rt {

inline std::string counted(uint64_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : noun.back() == 's' ? "es" : "s");
}

// Returns "97.66%", or "nan" if the share is no number.
inline std::string percent(double share) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f%%", 100 * share);
  return share == share ? text : "nan";
}

} // namespace cleave::rt

#endif

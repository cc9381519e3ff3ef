// Counts with their noun: "1 rank", "2 ranks", "3 processes".
#ifndef CLEAVE_RUNTIME_BASE_COUNTED_H
#define CLEAVE_RUNTIME_BASE_COUNTED_H

#include <cstdint>
#include <string>

namespace cleave::rt {

inline std::string counted(uint64_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : noun.back() == 's' ? "es" : "s");
}

} // namespace cleave::rt

#endif

// FNV-1a with 64 bits, which identifies definitions and layouts. It is not for hostile input.
#ifndef CLEAVE_RUNTIME_BASE_HASH_H
#define CLEAVE_RUNTIME_BASE_HASH_H

#include <cstdint>
#include <string_view>

namespace cleave::rt {

constexpr uint64_t kFnvOffset = 0xcbf29ce484222325ull;

constexpr uint64_t fnv1a(std::string_view bytes, uint64_t hash = kFnvOffset) {
  for (char c : bytes)
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
  return hash;
}

} // namespace cleave::rt

#endif

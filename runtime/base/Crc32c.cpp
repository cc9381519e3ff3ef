#include "runtime/base/Crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace cleave::rt {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78; // 0x1edc6f41 with its bits reversed

// kTables[k][b] is the effect of byte b on the checksum if k bytes follow it ("slicing by eight").
using Tables = std::array<std::array<uint32_t, 256>, 8>;
constexpr Tables makeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit)
      value = value & 1 ? value >> 1 ^ kPolynomial : value >> 1;
    tables[0][byte] = value;
  }
  for (size_t k = 1; k < tables.size(); ++k)
    for (uint32_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = tables[k - 1][byte] >> 8 ^ tables[0][tables[k - 1][byte] & 0xff];
  return tables;
}
constexpr Tables kTables = makeTables();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t byInstruction(const unsigned char *next, size_t bytes, uint32_t value) {
  uint64_t wide = value;
  for (; bytes >= 8; bytes -= 8, next += 8) {
    uint64_t word;
    std::memcpy(&word, next, sizeof word);
    wide = _mm_crc32_u64(wide, word);
  }
  value = static_cast<uint32_t>(wide);
  for (; bytes != 0; --bytes)
    value = _mm_crc32_u8(value, *next++);
  return value;
}
#endif

} // namespace

uint32_t crc32cPortable(const void *data, size_t bytes, uint32_t before) {
  const auto *next = static_cast<const unsigned char *>(data);
  uint32_t value = ~before;
  for (; bytes >= 8; bytes -= 8, next += 8) {
    uint32_t folded = 0;
    for (unsigned i = 0; i < 8; ++i) {
      unsigned byte = next[i] ^ (i < 4 ? value >> (8 * i) & 0xff : 0);
      folded ^= kTables[7 - i][byte];
    }
    value = folded;
  }
  for (; bytes != 0; --bytes)
    value = value >> 8 ^ kTables[0][(value ^ *next++) & 0xff];
  return ~value;
}

uint32_t crc32c(const void *data, size_t bytes, uint32_t before) {
#if defined(__x86_64__)
  static const bool hasInstruction = __builtin_cpu_supports("sse4.2");
  if (hasInstruction)
    return ~byInstruction(static_cast<const unsigned char *>(data), bytes, ~before);
#endif
  return crc32cPortable(data, bytes, before);
}

} // namespace cleave::rt

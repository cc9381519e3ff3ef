// The bytes that one operation read and wrote: two bits for each byte, in pages of 4 KiB.
//
// For a kernel the log also records which block of the grid touched a byte. Blocks of a launch are unordered, so it is
// a mistake if two blocks touch the same byte and one of them writes. (Blocks that synchronize by atomics and fences
// are the exception. A launch of such a kernel runs without this check.)
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

namespace cleave::emulated {

constexpr uint64_t kPageBytes = 4096;
using PageBits = std::array<uint64_t, kPageBytes / 64>;

struct PageAccess {
  PageBits read{}, written{}, atomic{}; // atomic: every write so far was atomic
};

class AccessLog {
public:
  enum class Kind { Read, Write, Atomic };
  // Records an access. Returns false if `block` is not kNoBlock and the access conflicts with one of another block.
  bool note(uint64_t address, uint64_t bytes, Kind kind, uint64_t block = kNoBlock);
  const std::unordered_map<uint64_t, PageAccess> &pages() const { return log; }

  static constexpr uint64_t kNoBlock = ~uint64_t(0);

private:
  // The block that touched each byte last, as 1 + block modulo 65535. Two blocks with the same number are not told
  // apart.
  struct Blocks {
    std::array<uint16_t, kPageBytes> writer{}, reader{};
    std::array<uint64_t, kPageBytes / 64> manyReaders{}, atomicWriter{};
  };
  bool noteBlock(Blocks &b, uint64_t byte, Kind kind, uint16_t tag);
  // As noteBlock for `count` bytes of one page.
  bool noteBlocks(Blocks &b, uint64_t first, uint64_t count, Kind kind, uint16_t tag);
  // The pages that were used last. A kernel walks through a few buffers at a time, so this saves most look-ups in the
  // map.
  struct Cached {
    uint64_t number = ~uint64_t(0);
    PageAccess *page = nullptr;
    Blocks *blocks = nullptr; // null: not looked up yet
  };
  Cached &page(uint64_t number);

  std::unordered_map<uint64_t, PageAccess> log;
  std::unordered_map<uint64_t, std::unique_ptr<Blocks>> blocks;
  std::array<Cached, 16> cache;
};

} // namespace cleave::emulated

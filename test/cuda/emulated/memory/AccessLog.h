// What one operation read and wrote, byte by byte: two bits per byte in pages of 4 KiB.
//
// For a kernel the log also knows which block of the grid touched a byte, so that two blocks that touch the same byte,
// one of them writing, are found: blocks of a launch are unordered. (Blocks that synchronize by atomics and fences are
// the exception; a launch whose kernel does so runs without this check.)
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
  // Notes an access. With `block` not kNoBlock, returns false if another block's access conflicts.
  bool note(uint64_t address, uint64_t bytes, Kind kind, uint64_t block = kNoBlock);
  const std::unordered_map<uint64_t, PageAccess> &pages() const { return log; }

  static constexpr uint64_t kNoBlock = ~uint64_t(0);

private:
  // Who touched each byte last, as 1 + block modulo 65535 (two blocks that share a number are not told apart).
  struct Blocks {
    std::array<uint16_t, kPageBytes> writer{}, reader{};
    std::array<uint64_t, kPageBytes / 64> manyReaders{}, atomicWriter{};
  };
  bool noteBlock(Blocks &b, uint64_t byte, Kind kind, uint16_t tag);
  // As noteBlock for `count` bytes of one page.
  bool noteBlocks(Blocks &b, uint64_t first, uint64_t count, Kind kind, uint16_t tag);
  // The pages used last, found without the map: a kernel walks through a few buffers at a time.
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

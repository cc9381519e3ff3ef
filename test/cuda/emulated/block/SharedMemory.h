// The shared memory of the block that runs on an OS thread, with a shadow that records which threads touched each byte.
//
// The arena is below 4 GiB and is aligned to 256 KiB. So a 32-bit shared address is the address itself, and the 18
// address bits of a wgmma descriptor are an offset.
#pragma once
#include "test/cuda/emulated/block/WarpClocks.h"
#include <cstddef>
#include <string>
#include <vector>

namespace cleave::emulated {

// The thread that makes an access, and the time of the access.
struct Accessor {
  uint32_t thread, warp;
  uint32_t warpEpoch; // number of bar.warp.sync that the thread has passed
};

class SharedMemory {
public:
  SharedMemory();
  SharedMemory(const SharedMemory &) = delete;
  ~SharedMemory();

  char *base() const { return memory; }
  bool contains(uint64_t address) const {
    return address >= reinterpret_cast<uint64_t>(memory) && address < reinterpret_cast<uint64_t>(memory) + kWindow;
  }
  uint32_t size() const { return bytes; }

  // Fills the block's memory with NaN patterns, and forgets the accesses of the previous block.
  void startBlock(uint32_t bytes);
  // Checks the bounds of an access and whether it races, and records it. Returns false and a message if it is wrong.
  bool access(uint64_t address, uint32_t count, bool isWrite, bool isAtomic, const Accessor &who,
              const WarpClocks &clocks, bool checkUninitialized, std::string &message);

  static constexpr size_t kWindow = 256 << 10;

private:
  struct Stamp {
    uint32_t clock = 0; // 0: no access
    uint32_t warpEpoch = 0;
    uint16_t thread = 0;
    bool atomic = false;
  };
  // Several unordered readers of one byte. Each warp has its last read here.
  struct Readers {
    WarpClock clock{};
    std::array<uint32_t, kMaxWarps> warpEpoch{};
    std::array<uint16_t, kMaxWarps> thread{};
    std::array<bool, kMaxWarps> many{}; // several threads of the warp read at this clock and epoch
  };
  struct Shadow {
    Stamp write, read;
    uint32_t readers = 0; // 1 + index in `manyReaders`; 0: none
    uint32_t generation = 0;
  };
  static bool ordered(const Stamp &stamp, const Accessor &who, const WarpClocks &clocks);
  const Stamp *unorderedRead(const Shadow &s, const Accessor &who, const WarpClocks &clocks, Stamp &found) const;
  void noteRead(Shadow &s, const Stamp &stamp, const Accessor &who, const WarpClocks &clocks);

  char *memory = nullptr;
  void *mapping = nullptr;
  uint32_t bytes = 0;
  std::vector<Shadow> shadow;
  std::vector<Readers> manyReaders;
  uint32_t generation = 0;
};

} // namespace cleave::emulated

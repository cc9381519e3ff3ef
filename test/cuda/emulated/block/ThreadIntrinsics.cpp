// A thread's ids, its memory accesses, and the ways in which it stops.
#include "test/cuda/emulated/block/Block.h"
#include "test/cuda/emulated/block/Intrinsics.h"
#include "test/cuda/emulated/driver/Codes.h"
#include <chrono>

namespace cleave::emulated {
namespace {

uint64_t sharedBase() { return reinterpret_cast<uint64_t>(currentBlock().shared().base()); }

uint32_t special(uint32_t which) {
  Block &b = currentBlock();
  const Thread &t = b.self();
  const Launch &l = b.launch();
  uint32_t below = (1u << t.lane) - 1, bit = 1u << t.lane;
  switch (Special(which)) {
  case Special::ThreadX:
    return t.id.x;
  case Special::ThreadY:
    return t.id.y;
  case Special::ThreadZ:
    return t.id.z;
  case Special::BlockSizeX:
    return l.block.x;
  case Special::BlockSizeY:
    return l.block.y;
  case Special::BlockSizeZ:
    return l.block.z;
  case Special::BlockX:
    return b.position().x;
  case Special::BlockY:
    return b.position().y;
  case Special::BlockZ:
    return b.position().z;
  case Special::GridX:
    return l.grid.x;
  case Special::GridY:
    return l.grid.y;
  case Special::GridZ:
    return l.grid.z;
  case Special::Lane:
    return t.lane;
  case Special::Warp:
    return t.warp;
  case Special::WarpCount:
    return (b.threadCount() + 31) / 32;
  case Special::LaneMaskEqual:
    return bit;
  case Special::LaneMaskLess:
    return below;
  case Special::LaneMaskLessEqual:
    return below | bit;
  case Special::LaneMaskGreater:
    return ~(below | bit);
  case Special::LaneMaskGreaterEqual:
    return ~below;
  case Special::DynamicShared:
    return l.sharedDynamic;
  case Special::TotalShared:
    return l.sharedStatic + l.sharedDynamic;
  }
  return 0;
}

// Kernels may only rely on a clock that advances.
uint64_t clock() { return uint64_t(std::chrono::steady_clock::now().time_since_epoch().count()); }

uint64_t access(uint64_t address, uint32_t bytes, uint32_t kind, uint32_t alignment, uint32_t line) {
  Block &b = currentBlock();
  if (address % alignment)
    b.fail(code::MisalignedAddress, "accesses " + std::to_string(bytes) +
                                        " bytes at an address that is no multiple of " + std::to_string(alignment) +
                                        " (PTX line " + std::to_string(line) + ")");
  return b.access(address, bytes, Access(kind), line);
}

uint32_t isShared(uint64_t address) { return currentBlock().shared().contains(address); }
uint32_t isLocal(uint64_t address) { return currentBlock().isOnStack(address, 1); }

void trap(uint32_t line) {
  currentBlock().fail(code::IllegalInstruction, "executes trap (PTX line " + std::to_string(line) + ")");
}

void assertion(uint64_t message, uint64_t file, uint32_t where, uint64_t function) {
  auto text = [](uint64_t p) {
    std::string s;
    for (; s.size() < 1000; p++) {
      char c = *reinterpret_cast<const char *>(currentBlock().access(p, 1, Access::Read, 0));
      if (!c)
        break;
      s += c;
    }
    return s;
  };
  currentBlock().fail(code::Assert, "fails the assertion `" + text(message) + "` in " + text(function) + ", " +
                                        text(file) + ":" + std::to_string(where));
}

} // namespace

void addThreadIntrinsics(std::vector<Intrinsic> &list) {
  list.push_back({"emu_shared_base", reinterpret_cast<void *>(&sharedBase)});
  list.push_back({"emu_special", reinterpret_cast<void *>(&special)});
  list.push_back({"emu_clock", reinterpret_cast<void *>(&clock)});
  list.push_back({"emu_access", reinterpret_cast<void *>(&access)});
  list.push_back({"emu_is_shared", reinterpret_cast<void *>(&isShared)});
  list.push_back({"emu_is_local", reinterpret_cast<void *>(&isLocal)});
  list.push_back({"emu_trap", reinterpret_cast<void *>(&trap)});
  list.push_back({"emu_assertion", reinterpret_cast<void *>(&assertion)});
}

const std::vector<Intrinsic> &intrinsics() {
  static const std::vector<Intrinsic> list = [] {
    std::vector<Intrinsic> all;
    addThreadIntrinsics(all);
    addWarpIntrinsics(all);
    addCopyIntrinsics(all);
    addMatrixIntrinsics(all);
    addWarpGroupIntrinsics(all);
    addMathIntrinsics(all);
    return all;
  }();
  return list;
}

} // namespace cleave::emulated

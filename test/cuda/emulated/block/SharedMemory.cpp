#include "test/cuda/emulated/block/SharedMemory.h"
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace cleave::emulated {

SharedMemory::SharedMemory() {
  mapping = mmap(nullptr, 2 * kWindow, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (mapping == MAP_FAILED)
    abort(); // 512 KiB below 4 GiB. Nothing can run without them
  memory = reinterpret_cast<char *>((reinterpret_cast<uint64_t>(mapping) + kWindow - 1) & ~uint64_t(kWindow - 1));
  shadow.resize(kWindow);
}

SharedMemory::~SharedMemory() { munmap(mapping, 2 * kWindow); }

void SharedMemory::startBlock(uint32_t blockBytes) {
  bytes = blockBytes;
  memset(memory, 0xff, bytes);
  manyReaders.clear();
  generation++;
}

bool SharedMemory::ordered(const Stamp &stamp, const Accessor &who, const WarpClocks &clocks) {
  if (!stamp.clock || stamp.thread == who.thread)
    return true;
  uint32_t warp = stamp.thread / 32;
  return clocks.knows(who.warp, warp, stamp.clock) || (warp == who.warp && stamp.warpEpoch < who.warpEpoch);
}

const SharedMemory::Stamp *SharedMemory::unorderedRead(const Shadow &s, const Accessor &who, const WarpClocks &clocks,
                                                       Stamp &found) const {
  if (!s.readers)
    return ordered(s.read, who, clocks) ? nullptr : &s.read;
  const Readers &r = manyReaders[s.readers - 1];
  for (uint32_t w = 0; w < kMaxWarps; w++) {
    if (!r.clock[w])
      continue;
    found = {r.clock[w], r.warpEpoch[w], r.thread[w], false};
    if (r.many[w] && found.thread == who.thread) // another thread of this warp
      found.thread = uint16_t(found.thread ^ 1);
    if (!ordered(found, who, clocks))
      return &found;
  }
  return nullptr;
}

void SharedMemory::noteRead(Shadow &s, const Stamp &stamp, const Accessor &who, const WarpClocks &clocks) {
  if (!s.readers && ordered(s.read, who, clocks)) {
    s.read = stamp;
    return;
  }
  if (!s.readers) {
    manyReaders.emplace_back();
    s.readers = uint32_t(manyReaders.size());
    Readers &r = manyReaders.back();
    uint32_t w = s.read.thread / 32;
    r.clock[w] = s.read.clock;
    r.warpEpoch[w] = s.read.warpEpoch;
    r.thread[w] = s.read.thread;
  }
  Readers &r = manyReaders[s.readers - 1];
  bool sameMoment = r.clock[who.warp] == stamp.clock && r.warpEpoch[who.warp] == stamp.warpEpoch;
  r.many[who.warp] = sameMoment && (r.many[who.warp] || r.thread[who.warp] != stamp.thread);
  r.clock[who.warp] = stamp.clock;
  r.warpEpoch[who.warp] = stamp.warpEpoch;
  r.thread[who.warp] = stamp.thread;
}

bool SharedMemory::access(uint64_t address, uint32_t count, bool isWrite, bool isAtomic, const Accessor &who,
                          const WarpClocks &clocks, bool checkUninitialized, std::string &message) {
  uint64_t offset = address - reinterpret_cast<uint64_t>(memory);
  if (offset + count > bytes) {
    message = "accesses " + std::to_string(count) + " bytes at shared +" + std::to_string(offset) +
              ", but the block has " + std::to_string(bytes) + " bytes of shared memory";
    return false;
  }
  Stamp stamp{clocks.now(who.warp), who.warpEpoch, uint16_t(who.thread), isAtomic};
  for (uint64_t k = offset; k < offset + count; k++) {
    Shadow &s = shadow[k];
    if (s.generation != generation)
      s = Shadow{{}, {}, 0, generation};
    if (checkUninitialized && !isWrite && !s.write.clock) {
      message = "reads shared +" + std::to_string(k) + ", which no thread of the block wrote";
      return false;
    }
    if (!ordered(s.write, who, clocks) && !(isAtomic && s.write.atomic)) {
      message = std::string(isWrite ? "writes" : "reads") + " shared +" + std::to_string(k) + ", which thread " +
                std::to_string(s.write.thread) + " wrote, with no barrier between";
      return false;
    }
    if (!isWrite) {
      noteRead(s, stamp, who, clocks);
      continue;
    }
    Stamp found;
    if (const Stamp *read = unorderedRead(s, who, clocks, found)) {
      message = "writes shared +" + std::to_string(k) + ", which thread " + std::to_string(read->thread) +
                " read, with no barrier between";
      return false;
    }
    // All earlier accesses are ordered before this one. An access that is unordered with them is unordered with this
    // one, too.
    s = Shadow{stamp, {}, 0, generation};
  }
  return true;
}

} // namespace cleave::emulated

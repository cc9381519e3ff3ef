#include "test/cuda/emulated/memory/AccessLog.h"
#include <algorithm>
#include <cstring>

namespace cleave::emulated {

AccessLog::Cached &AccessLog::page(uint64_t number) {
  Cached &c = cache[(number ^ number >> 4 ^ number >> 8) % cache.size()];
  if (c.number != number)
    c = {number, &log[number], nullptr}; // the nodes of an unordered_map never move
  return c;
}

bool AccessLog::noteBlock(Blocks &b, uint64_t byte, Kind kind, uint16_t tag) {
  uint64_t word = byte / 64, bit = uint64_t(1) << (byte % 64);
  uint16_t &writer = b.writer[byte], &reader = b.reader[byte];
  bool otherWrote = writer && writer != tag && !(kind == Kind::Atomic && (b.atomicWriter[word] & bit));
  if (kind == Kind::Read) {
    if (reader && reader != tag)
      b.manyReaders[word] |= bit;
    reader = tag;
    return !otherWrote;
  }
  bool otherRead = (b.manyReaders[word] & bit) || (reader && reader != tag);
  b.atomicWriter[word] = kind == Kind::Atomic && (!writer || (b.atomicWriter[word] & bit))
                             ? b.atomicWriter[word] | bit
                             : b.atomicWriter[word] & ~bit;
  writer = tag;
  return !otherWrote && !otherRead;
}

// Most accesses find bytes that no block has touched, or only this block. Four such bytes are checked at a time.
bool AccessLog::noteBlocks(Blocks &b, uint64_t first, uint64_t count, Kind kind, uint16_t tag) {
  constexpr uint64_t kFour = 0x0001000100010001;
  auto four = [](const uint16_t *p) {
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value;
  };
  const uint64_t mine = kFour * tag;
  bool good = true;
  uint64_t end = first + count;
  while (first < end) {
    uint16_t *writer = &b.writer[first], *reader = &b.reader[first];
    bool whole = first % 4 == 0 && end - first >= 4 && kind != Kind::Atomic;
    uint64_t w = whole ? four(writer) : 0, r = whole ? four(reader) : 0;
    whole = whole && (!w || w == mine) && (!r || r == mine);
    if (whole && kind == Kind::Write)
      whole = !((b.manyReaders[first / 64] | b.atomicWriter[first / 64]) >> (first % 64) & 15);
    if (!whole) {
      good &= noteBlock(b, first++, kind, tag);
      continue;
    }
    memcpy(kind == Kind::Read ? reader : writer, &mine, sizeof mine);
    first += 4;
  }
  return good;
}

bool AccessLog::note(uint64_t address, uint64_t bytes, Kind kind, uint64_t block) {
  bool good = true;
  uint64_t end = address + bytes;
  while (address < end) {
    uint64_t number = address / kPageBytes, first = address % kPageBytes;
    uint64_t last = std::min(kPageBytes, first + (end - address));
    Cached &cached = page(number);
    PageAccess &p = *cached.page;
    for (uint64_t at = first; at < last;) {
      uint64_t word = at / 64, low = at % 64, count = std::min<uint64_t>(64 - low, last - at);
      uint64_t mask = (count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1) << low;
      if (kind == Kind::Read) {
        p.read[word] |= mask;
      } else {
        uint64_t plain = p.written[word] & ~p.atomic[word];
        p.atomic[word] = kind == Kind::Atomic ? p.atomic[word] | (mask & ~plain) : p.atomic[word] & ~mask;
        p.written[word] |= mask;
      }
      at += count;
    }
    if (block != kNoBlock) {
      if (!cached.blocks) {
        std::unique_ptr<Blocks> &b = blocks[number];
        if (!b)
          b = std::make_unique<Blocks>();
        cached.blocks = b.get();
      }
      good &= noteBlocks(*cached.blocks, first, last - first, kind, uint16_t(1 + block % 65535));
    }
    address += last - first;
  }
  return good;
}

} // namespace cleave::emulated

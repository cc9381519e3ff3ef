#include "test/cuda/emulated/memory/RaceDetector.h"
#include <algorithm>
#include <memory>

namespace cleave::emulated {

bool RaceDetector::conflict(const PageAccess &a, const PageAccess &b, uint64_t &byte, bool &aWrites, bool &bWrites) {
  for (size_t w = 0; w < a.read.size(); w++) {
    uint64_t touchedA = a.read[w] | a.written[w], touchedB = b.read[w] | b.written[w];
    uint64_t bad = (a.written[w] & touchedB) | (b.written[w] & touchedA);
    // Two atomic operations do not race, unless one of them also reads the byte plainly.
    bad &= ~(a.atomic[w] & b.atomic[w] & ~a.read[w] & ~b.read[w]);
    if (!bad)
      continue;
    int bit = __builtin_ctzll(bad);
    byte = w * 64 + uint64_t(bit);
    aWrites = a.written[w] >> bit & 1;
    bWrites = b.written[w] >> bit & 1;
    return true;
  }
  return false;
}

// Removes from `earlier` the bytes that `later` represents from now on. Returns true if no byte is left.
bool RaceDetector::cover(Entry &earlier, const PageAccess &later) {
  uint64_t left = 0;
  PageAccess &e = earlier.access;
  for (size_t w = 0; w < e.read.size(); w++) {
    uint64_t plain = later.written[w] & ~later.atomic[w];
    e.written[w] &= ~(plain | (later.written[w] & e.atomic[w]));
    e.atomic[w] &= e.written[w];
    e.read[w] &= ~(plain | later.read[w]);
    left |= e.written[w] | e.read[w];
  }
  return !left;
}

std::string RaceDetector::add(const std::string &name, const Stamp &stamp, const AccessLog &accesses) {
  std::lock_guard<std::mutex> lock(mutex);
  auto operation = std::make_shared<const Operation>(Operation{name, stamp.id, stamp.tick});
  std::string message;
  for (const auto &[number, access] : accesses.pages()) {
    std::vector<Entry> &entries = pages[number];
    for (size_t k = 0; k < entries.size();) {
      Entry &e = entries[k];
      if (stamp.known.at(e.operation->id) >= e.operation->tick) {
        if (cover(e, access)) {
          entries[k] = std::move(entries.back());
          entries.pop_back();
          continue;
        }
      } else if (uint64_t byte; message.empty()) {
        bool writes = false, earlierWrites = false;
        if (conflict(access, e.access, byte, writes, earlierWrites)) {
          char address[32];
          snprintf(address, sizeof address, "0x%llx", (unsigned long long)(number * kPageBytes + byte));
          message = "race between streams: " + name + (writes ? " writes " : " reads ") + address + ", which " +
                    e.operation->name + (earlierWrites ? " writes" : " reads") +
                    " on another stream with no event or synchronization between";
        }
      }
      k++;
    }
    entries.push_back({operation, access});
  }
  return message;
}

void RaceDetector::forget(uint64_t address, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  // Each allocation starts on a page of its own, so whole pages are removed.
  for (uint64_t number = address / kPageBytes; number * kPageBytes < address + bytes; number++)
    pages.erase(number);
}

} // namespace cleave::emulated

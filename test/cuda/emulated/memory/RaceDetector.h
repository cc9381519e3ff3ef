// Finds operations on different streams that touch the same bytes without an event between them, if one of them writes.
//
// The order is that of the vector clocks, which is known when an operation is enqueued. So a missing wait is found in
// any timing. For each page, the detector stores the accesses that a later operation could race with. The bytes that an
// operation touches are removed from the accesses that it is ordered after: an operation that races with those also
// races with it.
#pragma once
#include "test/cuda/emulated/memory/AccessLog.h"
#include "test/cuda/emulated/memory/VectorClock.h"
#include <mutex>
#include <string>
#include <vector>

namespace cleave::emulated {

class RaceDetector {
public:
  // Compares a finished operation with the earlier operations that it is not ordered after, and records it. Returns a
  // message if there is a race. Operations must be added in an order that agrees with the clocks.
  std::string add(const std::string &name, const Stamp &stamp, const AccessLog &accesses);
  // Forgets a range because its memory was freed or allocated.
  void forget(uint64_t address, uint64_t bytes);

private:
  struct Operation {
    std::string name;
    ClockId id;
    uint64_t tick;
  };
  struct Entry {
    std::shared_ptr<const Operation> operation;
    PageAccess access;
  };
  static bool conflict(const PageAccess &a, const PageAccess &b, uint64_t &byte, bool &aWrites, bool &bWrites);
  static bool cover(Entry &earlier, const PageAccess &later);

  std::mutex mutex;
  std::unordered_map<uint64_t, std::vector<Entry>> pages;
};

} // namespace cleave::emulated

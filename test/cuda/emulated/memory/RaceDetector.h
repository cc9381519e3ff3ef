// Finds operations on different streams that touch the same bytes, one of them writing, with no event between.
//
// The order is that of the vector clocks, known when an operation is enqueued, so a missing wait is found whatever the
// timing of this run was. Per page the detector keeps the accesses that a later operation could race with. An operation
// takes the bytes that it touched away from the accesses that it comes after: whoever races with those races with it,
// too.
#pragma once
#include "test/cuda/emulated/memory/AccessLog.h"
#include "test/cuda/emulated/memory/VectorClock.h"
#include <mutex>
#include <string>
#include <vector>

namespace cleave::emulated {

class RaceDetector {
public:
  // Compares a finished operation with the earlier ones that it is not ordered after, and remembers it. Returns a
  // message if there is a race. Operations are given in an order that respects the clocks.
  std::string add(const std::string &name, const Stamp &stamp, const AccessLog &accesses);
  // Forgets a range: its memory was freed or allocated.
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

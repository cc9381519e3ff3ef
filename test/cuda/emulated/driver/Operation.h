// One piece of work on a stream or in a graph: a name for messages, and what it does.
//
// While it runs, it touches memory through its `Recorder` only, which checks each access and keeps the log that the
// race detector compares.
#pragma once
#include "test/cuda/emulated/block/Launch.h"
#include "test/cuda/emulated/driver/Machine.h"
#include <functional>
#include <string>

namespace cleave::emulated {

class Recorder : public GlobalMemory {
public:
  Recorder(std::string name, Machine &machine) : name(std::move(name)), machine(machine) {}

  // An access of a kernel.
  uint64_t access(uint64_t address, uint32_t bytes, Access kind, uint64_t block, Fault &fault) override;
  // An access of a copy, fill or library call: returns the host's pointer, or null after a report. `values`: the bytes
  // are used as numbers, so they must have been written.
  const void *read(uint64_t address, uint64_t bytes, bool values);
  void *write(uint64_t address, uint64_t bytes);
  // Memory of the host's own, not pinned: logged, not checked.
  void noteHost(uint64_t address, uint64_t bytes, bool isWrite);

  const AccessLog &accesses() const { return log; }
  bool checkBlocks = true;
  const std::string name;
  uint64_t seed = 1;

private:
  // The allocation that holds the whole range, or null. It stays valid until the next call.
  const Allocation *find(uint64_t address, uint64_t bytes);
  Machine &machine;
  AccessLog log;
  std::array<std::shared_ptr<Allocation>, 4> recent; // the allocations used last
  size_t nextRecent = 0;
  uint64_t generation = 0; // of the address space, when `recent` was filled
};

struct Operation {
  std::string name;
  std::function<void(Recorder &)> run;
  // A kernel whose blocks synchronize among each other by fences: see AccessLog.
  bool checkBlocks = true;
};

// Runs an operation at its place in the order, unless the machine is lost; then compares its accesses.
void perform(const Operation &operation, const Stamp &stamp, uint64_t salt);

} // namespace cleave::emulated

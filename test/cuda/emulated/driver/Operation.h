// One operation on a stream or in a graph: a name for messages, and a function that does the work.
//
// While it runs, it accesses memory only through its `Recorder`, which checks each access, and writes the log that the
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
  // An access of a copy, fill or library call. Returns the host's pointer, or null after a report. `values`: the bytes
  // are used as numbers, so they must have been written.
  const void *read(uint64_t address, uint64_t bytes, bool values);
  void *write(uint64_t address, uint64_t bytes);
  // An access to the host's own memory that is not pinned. It is logged, and not checked.
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
  // False for a kernel whose blocks synchronize with each other by fences (see AccessLog).
  bool checkBlocks = true;
};

// Runs an operation, unless the machine has a sticky error, and compares its accesses with those of earlier operations.
void perform(const Operation &operation, const Stamp &stamp, uint64_t salt);

} // namespace cleave::emulated

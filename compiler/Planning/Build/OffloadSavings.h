// Finds whether --offload activations saves device memory. It saves nothing if a step needs the most memory while the
// values that it stores in host memory are in use, or before they are made.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_OFFLOADSAVINGS_H
#define CLEAVE_COMPILER_PLANNING_BUILD_OFFLOADSAVINGS_H

#include "compiler/Planning/Draft/Allocator.h"
#include "compiler/Planning/Build/ProgramDraft.h"

#include <optional>
#include <vector>

namespace cleave::plan {

class OffloadSavings {
public:
  // Adds a scheduled program. `ofDevice` are the allocations with an address in the device's transient region, which
  // takes `needed` bytes; `ofHost` are those with an address in the host's. `spans` are those of all allocations.
  void add(const ProgramDraft &draft, const std::vector<std::optional<Span>> &spans,
           const std::vector<unsigned> &ofDevice, const std::vector<unsigned> &ofHost, uint64_t needed);

  // Returns how many bytes the programs store in host memory.
  uint64_t getStored() const { return stored; }
  bool saveNothing() const { return !hasFrames && neededIfKept <= needed; }

private:
  uint64_t stored = 0;
  uint64_t needed = 0, neededIfKept = 0; // device memory: as planned, and if each value stayed until its last use
  bool hasFrames = false; // the host holds values of several micro-batches at once, the device never does
};

} // namespace cleave::plan

#endif

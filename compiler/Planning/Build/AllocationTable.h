// The allocations of one program. An allocation can be merged into another one, and is then a part of it.
//
// A value has an Address: an allocation, and an offset in it. The operands of a concat are made in allocations of their
// own. When the concat is visited, these are merged into its allocation, so that the operands are produced in place.
// The same is done with a value that is written to a state, or returned.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_ALLOCATIONTABLE_H
#define CLEAVE_COMPILER_PLANNING_BUILD_ALLOCATIONTABLE_H

#include "compiler/Planning/Draft/Draft.h"
#include "dialects/Plan/IR/Plan.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace cleave::plan {

struct Address {
  unsigned allocation = 0;
  uint64_t offset = 0;
  Share share = {}; // the rank's part of what begins at `offset`
};

// What an allocation is for: the kinds of transient memory that a plan reports. If it has several uses, the last of
// these counts.
enum class MemoryUse {
  Activation, // what kernels make
  Staging,    // copies of host memory
  Unreduced,  // what is reduced in these bytes
  Gathered    // the result of a gather
};

struct Allocation {
  RegionKind kind;
  uint64_t bytes;
  std::optional<uint64_t> fixed; // the offset in the region, if it is decided; if not, the allocation is fresh
  std::optional<Address> mergedInto = {};
  std::vector<unsigned> merged = {}; // allocations that were merged into this one
  // The first and the last instruction that uses this allocation, or one that was merged into it.
  size_t firstUse = std::numeric_limits<size_t>::max(), lastUse = 0;
  MemoryUse use = MemoryUse::Activation; // counts the allocations that were merged into this one
  bool isCut = false;                    // there is an address of a share of it
  bool isHost = false;                   // in host memory: only copies use it, and nothing is merged with it
  int64_t frames = 0;                    // number of frames of a stage buffer's region; 0: no stage buffer
};

class AllocationTable {
public:
  unsigned add(RegionKind kind, uint64_t bytes, std::optional<uint64_t> fixed = std::nullopt, bool isHost = false) {
    Allocation allocation{kind, bytes, fixed};
    allocation.isHost = isHost;
    allocations.push_back(std::move(allocation));
    return allocations.size() - 1;
  }

  Address resolve(Address address) const {
    while (allocations[address.allocation].mergedInto) {
      const Address &whole = *allocations[address.allocation].mergedInto;
      address.offset += whole.offset;
      address.allocation = whole.allocation;
      if (whole.share)
        address.share = whole.share; // see canMerge
    }
    return address;
  }
  bool isHost(Address address) const { return allocations[resolve(address).allocation].isHost; }
  // True if the allocation is on the device, and its offset is not decided.
  bool isFresh(Address address) const {
    const Allocation &allocation = allocations[resolve(address).allocation];
    return !allocation.fixed && !allocation.isHost;
  }
  // True if the address and `bytes` are a whole fresh allocation.
  bool isFreshWhole(Address address, uint64_t bytes) const {
    Address at = resolve(address);
    return isFresh(at) && !at.share && at.offset == 0 && allocations[at.allocation].bytes == bytes;
  }
  // True if the allocation of `part` may become a part of `whole`. A share of a share has no address, because the wire
  // format has one group for each buffer.
  bool canMerge(Address part, Address whole) const {
    return !isHost(whole) && (!resolve(whole).share || !allocations[resolve(part).allocation].isCut);
  }
  void merge(Address part, Address whole) {
    unsigned allocation = resolve(part).allocation;
    Address target = resolve(whole);
    allocations[target.allocation].isCut |= allocations[allocation].isCut;
    noteMemoryUse(target.allocation, allocations[allocation].use);
    allocations[allocation].mergedInto = target;
    allocations[target.allocation].merged.push_back(allocation);
    if (allocations[allocation].firstUse <= allocations[allocation].lastUse) {
      noteUse(target.allocation, allocations[allocation].firstUse);
      noteUse(target.allocation, allocations[allocation].lastUse);
    }
  }
  // Records that an instruction uses the allocation.
  void noteUse(unsigned allocation, size_t instruction) {
    allocation = resolve({allocation, 0, {}}).allocation;
    allocations[allocation].firstUse = std::min(allocations[allocation].firstUse, instruction);
    allocations[allocation].lastUse = std::max(allocations[allocation].lastUse, instruction);
  }
  void noteMemoryUse(unsigned allocation, MemoryUse use) {
    MemoryUse &known = allocations[resolve({allocation, 0, {}}).allocation].use;
    known = std::max(known, use);
  }
  // True if an instruction uses `allocation` at or after the first use of `since`.
  bool isUsedSince(unsigned allocation, unsigned since) const {
    const Allocation &used = allocations[allocation], &other = allocations[since];
    return used.firstUse <= used.lastUse && other.firstUse <= used.lastUse;
  }
  // Returns the address of the rank's share of the bytes at `whole`; none if these are a share already.
  std::optional<Address> cut(Address whole, Share share) {
    Address at = resolve(whole);
    if (at.share)
      return std::nullopt;
    allocations[at.allocation].isCut = true;
    at.share = share;
    return at;
  }

  Allocation &operator[](unsigned allocation) { return allocations[allocation]; }
  const Allocation &operator[](unsigned allocation) const { return allocations[allocation]; }
  size_t size() const { return allocations.size(); }

private:
  std::vector<Allocation> allocations;
};

} // namespace cleave::plan

#endif

// Host memory in a draft: which of its bytes the device holds, too, and which copies to it are useless.
//
// A value's address may be in host memory. This holds for values read from an offloaded state, for values that
// `offload-values` stores there, and for views of both. An op that works on such a value gets a copy of just the bytes
// that it uses, in an allocation of its own. All copies that one op gets are one unit of prefetch (Prefetch.h). A value
// that is written to a host state, or is offloaded, is copied out directly after the instruction that makes it.
//
//   %m = cleave.read @w.momentum                 address: host.persistent
//   %n, %v = cleave.kernel(%m, %g, %w)           fetch: copy t0 <- host.persistent; launch t0=rw ...
//   cleave.write %n, @w.momentum                 copy host.persistent <- t0
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_HOSTCOPIES_H
#define CLEAVE_COMPILER_PLANNING_BUILD_HOSTCOPIES_H

#include "compiler/Planning/Build/ProgramDraft.h"

namespace cleave::plan {

// The last copies between host and device memory. A copy is used again only while it is among the last few. So the
// device holds no more of the host's memory than is in flight, however much a program uses.
class HostCopies {
public:
  // `window`: how many transfers back a copy is used again. A transfer is all copies that one op gets, or one value
  // that is stored.
  HostCopies(const AllocationTable &allocations, uint64_t window) : allocations(allocations), window(window) {}

  // Returns where the device holds these bytes of the host.
  std::optional<Address> find(Address host, uint64_t bytes) const;
  void beginTransfer() { ++transfers; }
  // Adds a copy to the last transfer that began.
  void add(Address host, Address device, uint64_t bytes) { copies.push_back({host, device, bytes, transfers}); }
  // Forgets the copies that become stale because the bytes at `changed` change, on the device or in the state there.
  void forget(Address changed);

private:
  struct Copy {
    Address host, device;
    uint64_t bytes;
    uint64_t transfer; // the value of `transfers` when it was made
  };
  const AllocationTable &allocations;
  uint64_t window;
  std::vector<Copy> copies;
  uint64_t transfers = 0; // number of transfers so far
};

// True if the instruction that made the bytes moves up (a reduction), and their copy out with it. The users of the
// value do not move up. If they used the bytes on the device, these would be held until then.
bool isMadeEarly(const ProgramDraft &draft, Address address);

// Drops copies out that nobody reads: the value was used again before it left the device. Allocations must be resolved.
void dropUnreadCopies(ProgramDraft &draft);

} // namespace cleave::plan

#endif

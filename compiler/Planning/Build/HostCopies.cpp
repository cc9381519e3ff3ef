#include "compiler/Planning/Build/HostCopies.h"
#include "compiler/Planning/Draft/Issue.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace cleave::plan {

std::optional<Address> HostCopies::find(Address host, uint64_t bytes) const {
  for (const Copy &copy : llvm::reverse(copies))
    if (transfers - copy.transfer < window && copy.host.allocation == host.allocation &&
        copy.host.share == host.share && copy.host.offset <= host.offset &&
        host.offset + bytes <= copy.host.offset + copy.bytes) {
      Address known = allocations.resolve(copy.device);
      known.offset += host.offset - copy.host.offset;
      return known;
    }
  return std::nullopt;
}

void HostCopies::forget(Address changed) {
  unsigned allocation = allocations.resolve(changed).allocation;
  llvm::erase_if(copies, [&](const Copy &copy) {
    return copy.host.allocation == allocation || allocations.resolve(copy.device).allocation == allocation;
  });
}

bool isMadeEarly(const ProgramDraft &draft, Address address) {
  for (const DraftInstruction &instruction : llvm::reverse(draft.instructions))
    for (const MemoryAccess &touched : instruction.uses)
      if (touched.writes && draft.allocations.resolve({touched.allocation, 0, {}}).allocation == address.allocation)
        return movesUp(instruction.purpose);
  return false;
}

void dropUnreadCopies(ProgramDraft &draft) {
  llvm::DenseSet<unsigned> read;
  for (const DraftInstruction &instruction : draft.instructions)
    for (const MemoryAccess &touched : instruction.uses)
      if (touched.reads)
        read.insert(touched.allocation);
  llvm::erase_if(draft.instructions, [&](const DraftInstruction &instruction) {
    return instruction.purpose == Purpose::CopyOut && !draft.allocations[instruction.uses.front().allocation].fixed &&
           !read.contains(instruction.uses.front().allocation);
  });
}

} // namespace cleave::plan

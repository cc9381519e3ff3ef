// Adds instructions to a draft, in program order. Invariant of the draft: each instruction has its purpose, the
// allocations know which instructions use them, and each gather is numbered once.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_INSTRUCTIONMAKER_H
#define CLEAVE_COMPILER_PLANNING_BUILD_INSTRUCTIONMAKER_H

#include "compiler/Planning/Build/ProgramDraft.h"

#include "llvm/ADT/DenseMap.h"

namespace cleave::plan {

// Returns how an instruction uses `bytes` at the address.
inline MemoryAccess accessTo(Address address, uint64_t bytes, bool reads, bool writes) {
  return {address.allocation, address.offset, bytes, reads, writes, false, address.share};
}

class InstructionMaker {
public:
  InstructionMaker(ProgramDraft &draft, mlir::MLIRContext *context) : draft(draft), builder(context) {}

  DraftInstruction &add(mlir::Operation *op, llvm::StringRef mnemonic, Purpose purpose, std::vector<MemoryAccess> uses,
                        mlir::NamedAttrList fields = {});
  // `purpose` is that of a copy in device memory, Gather or what moves to and from it (purposeOfCopy).
  DraftInstruction &addCopy(mlir::Operation *op, Address target, Address source, uint64_t bytes,
                            Purpose purpose = Purpose::Compute);
  DraftInstruction &addFill(mlir::Operation *op, Address target, uint64_t bytes, int64_t pattern, int64_t width,
                            Purpose purpose = Purpose::Compute);
  void addFill(mlir::Operation *op, Address target, mlir::DenseElementsAttr splat);

  // Makes the instruction that was added last the one that makes the op's results. Later instructions may have to
  // follow it (DraftInstruction::after), or belong to one gather with it.
  void setMaker(mlir::Operation *op) { makers[op] = draft.instructions.size() - 1; }
  DraftInstruction *findMaker(mlir::Operation *op);

  // Return the number of a new gather (DraftInstruction::gather): one that fills this allocation, or copies from host
  // memory.
  unsigned addGather(bool isBackward, unsigned allocation);
  unsigned addCopies(bool isBackward);

  // Resolves the allocations of all instructions and gathers. No allocation may be merged afterwards.
  void resolveMergedAllocations();

private:
  ProgramDraft &draft;
  mlir::Builder builder;
  llvm::DenseMap<mlir::Operation *, size_t> makers; // indices of instructions
  std::vector<std::optional<unsigned>> gathered;    // for each gather: the allocation that it fills; none: copies
};

} // namespace cleave::plan

#endif

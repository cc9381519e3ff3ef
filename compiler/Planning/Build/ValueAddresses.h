// Where the values of a program lie, while its ops are visited in order. Invariant: each value that an op has made has
// an address, and the instructions so far leave the value there. Allocations may still be merged (moveTo): a value
// keeps the address that it was given, and `find` resolves it.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_VALUEADDRESSES_H
#define CLEAVE_COMPILER_PLANNING_BUILD_VALUEADDRESSES_H

#include "compiler/Planning/Build/HostCopies.h"
#include "compiler/Planning/Build/InstructionMaker.h"
#include "compiler/Planning/Build/ModulePlan.h"
#include "compiler/Planning/Build/ValueFamilies.h"

namespace cleave::plan {

class ValueAddresses {
public:
  ValueAddresses(ModulePlan &plan, ProgramDraft &draft, InstructionMaker &maker, mlir::Block &block);

  const ValueFamilies &getFamilies() const { return families; }

  void put(mlir::Value value, Address address) {
    addresses[value] = address;
    valuesIn[address.allocation].push_back(value);
  }
  // Returns the value's address, in device or host memory. Fills a constant at its first use.
  mlir::FailureOr<Address> find(mlir::Value value);
  // Returns the value's address in device memory, for use by `op`. A value in host memory is copied to the device.
  mlir::FailureOr<Address> findOnDevice(mlir::Value value, mlir::Operation *op);
  // Returns the allocation that has the value; none if the value has no address yet.
  std::optional<unsigned> allocationOf(mlir::Value value) const;

  Address addFresh(uint64_t bytes) { return {draft.allocations.add(RegionKind::Transient, bytes), 0}; }
  unsigned stateAllocation(llvm::StringRef name);
  // The same; none if nothing has asked for this state yet.
  std::optional<unsigned> knownStateAllocation(llvm::StringRef name) const;
  unsigned poolAllocation(RegionKind kind, uint64_t bytes); // staging or scratch, from the region's start

  // Gives the value the bytes at `target`: merges its allocation into the target's if nothing forbids it, and copies it
  // otherwise. A splat is filled separately at each of its addresses, so that no copy of it has to outlive its
  // neighbours.
  mlir::LogicalResult moveTo(mlir::Value value, Address target, mlir::Operation *op, bool isJoined = false);

  // True if no value that is in the allocation by now, except the results of `op`, is used after `op`. This is exact
  // where families are not: two buckets that share a gradient are one family (residual branches that end in batch norms
  // have one bias gradient).
  bool isLastUseOf(unsigned allocation, mlir::Operation *op) const;
  // True if the value is a share of bytes that a collective of the reduce stream has reduced.
  bool isReducedPart(mlir::Value value) const;

  // The bytes at the address change.
  void noteChange(Address address) { copies.forget(address); }
  // The value at `device` is stored at `host`. Users may take it from the device while it is among the last transfers.
  void noteStored(Address host, Address device, uint64_t bytes);

private:
  mlir::FailureOr<Address> materialize(ConstantOp constant);
  Address fetch(mlir::Operation *op, Address from, uint64_t bytes);

  ModulePlan &plan;
  ProgramDraft &draft;
  InstructionMaker &maker;
  ValueFamilies families;
  llvm::DenseMap<mlir::Value, Address> addresses;
  llvm::DenseMap<unsigned, llvm::SmallVector<mlir::Value, 1>> valuesIn; // by allocation
  llvm::StringMap<unsigned> stateAllocations;
  std::map<RegionKind, unsigned> poolAllocations;
  HostCopies copies;
  struct Fetch {
    mlir::Operation *op; // null: a value was stored since then
    unsigned gather;
  };
  Fetch lastFetch = {nullptr, 0};
};

} // namespace cleave::plan

#endif

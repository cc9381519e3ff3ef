// Finds which values share bytes, and for how long a value's bytes are needed.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_VALUEFAMILIES_H
#define CLEAVE_COMPILER_PLANNING_BUILD_VALUEFAMILIES_H

#include "dialects/Cleave/IR/Cleave.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringMap.h"

namespace cleave::plan {

// Returns the read that made the value, or the whole of which the value is this rank's part; null if there is none.
ReadOp findStateRead(mlir::Value value);
// Returns the write that stores the value, or a value that is gathered or broadcast from it; null if there is none.
WriteOp findStateWrite(mlir::Value value);

// Families of values that may share bytes in one block: through views, and through states (all reads of a state between
// two writes, and the value written before them). Families are conservative: the operands of a concat are in one family
// although they do not overlap.
class ValueFamilies {
public:
  explicit ValueFamilies(mlir::Block &block);

  // Returns the position in the block of the last op that uses a member of the value's family; 0 if there is none.
  size_t lastUse(mlir::Value value) const;
  // The same for the value alone.
  size_t lastOwnUse(mlir::Value value) const { return lastOwnUses.lookup(value); }
  // True if the state is read after `op` and before `end` (null: the block's end).
  bool isReadBetween(llvm::StringRef state, mlir::Operation *op, mlir::Operation *end) const;
  size_t position(mlir::Operation *op) const { return positions.lookup(op); }
  bool related(mlir::Value a, mlir::Value b) const {
    return families.isEquivalent(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  }
  // True if a member of the value's family is used after the first write to `state` that follows `op`. Then the value
  // must not lie in the state.
  bool outlives(mlir::Value value, llvm::StringRef state, mlir::Operation *op) const;
  // True if a member of the value's family is read from a state or written to one.
  bool touchesState(mlir::Value value) const { return stateful.lookup(leader(value)); }

private:
  void *leader(mlir::Value value) const;

  llvm::EquivalenceClasses<void *> families;
  llvm::DenseMap<mlir::Operation *, size_t> positions;
  llvm::DenseMap<void *, size_t> lastUses;
  llvm::DenseMap<mlir::Value, size_t> lastOwnUses;
  llvm::DenseMap<void *, bool> stateful;
  llvm::StringMap<llvm::SmallVector<size_t>> reads, writes; // positions, ascending
};

} // namespace cleave::plan

#endif

// Which values share bytes, and for how long a value's bytes are needed.
#ifndef CLEAVE_COMPILER_PLANNING_DRAFT_VALUEFAMILIES_H
#define CLEAVE_COMPILER_PLANNING_DRAFT_VALUEFAMILIES_H

#include "dialects/Cleave/IR/Cleave.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringMap.h"

namespace cleave::plan {

// The read that made the value, or of which the value is this rank's part; null when there is none.
ReadOp readBehind(mlir::Value value);
// The write that takes the value, or what is gathered or broadcast from it.
WriteOp writeAhead(mlir::Value value);

// Families of values that may share bytes in one block: through views, and through states (all reads of a state between
// two writes, and the value written before them). Conservative: members of a concat are one family though they do not
// overlap.
class ValueFamilies {
public:
  explicit ValueFamilies(mlir::Block &block);

  // The position in the block of the last op that uses a member; 0 when there is none.
  size_t lastUse(mlir::Value value) const;
  // The same of the value alone.
  size_t lastOwnUse(mlir::Value value) const { return lastOwnUses.lookup(value); }
  // Whether the state is read after `op` and before `end` (null: the block's end).
  bool isReadBetween(llvm::StringRef state, mlir::Operation *op, mlir::Operation *end) const;
  size_t position(mlir::Operation *op) const { return positions.lookup(op); }
  bool related(mlir::Value a, mlir::Value b) const {
    return families.isEquivalent(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  }
  // Whether a member is used after the first write to `state` that follows `op`: then the value must not lie in the
  // state.
  bool outlives(mlir::Value value, llvm::StringRef state, mlir::Operation *op) const;
  // True when a member is read from a state or written to one.
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

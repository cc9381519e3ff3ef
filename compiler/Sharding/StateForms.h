// The form in which each state is stored, while the propagation runs.
//
// Most states are stored as the policy wants it (StateStorage.h). The storage of *accumulators* is needed before it is
// known what is written to them. It is guessed, and all functions are propagated again if a guess was wrong
// (Propagation.h).
#ifndef CLEAVE_COMPILER_SHARDING_STATEFORMS_H
#define CLEAVE_COMPILER_SHARDING_STATEFORMS_H

#include "compiler/Sharding/StateStorage.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

namespace cleave {

// How an accumulator is stored. A guess only goes down, so that this ends. Each step needs more memory or traffic than
// the one before, and accepts more values:
//
//   1. as the policy wants it, or partial if terms are written
//   2. the same without the partial axes, if it is split; otherwise the form of the value that is written
//   3. whole: any value can be made whole
//
// The second step is left out if nothing is wanted split and the written value is partial or in blocks: that is no form
// of a whole state.
class StorageLadder {
public:
  explicit StorageLadder(ShardingAttr wanted) : stored(wanted) {}

  ShardingAttr getStored() const { return stored; }
  // True if a value of this form can be stored.
  bool accepts(ShardingAttr written) const;
  // Goes one step down, because this form was written and is not accepted.
  void stepDown(ShardingAttr written);

private:
  ShardingAttr stored;
  bool isWanted = true; // the first guess
};

class StateForms {
public:
  // `dataAxes` are those with more than one rank.
  StateForms(mlir::ModuleOp module, MeshAttr mesh, const StatePolicy &policy, llvm::ArrayRef<mlir::Attribute> dataAxes);

  StateOp stateOf(llvm::StringRef name) const { return llvm::cast<StateOp>(symbols.lookup(name)); }
  // Returns how the state is stored, by the guesses so far.
  ShardingAttr getStored(StateOp state) const;
  ShardingAttr getStored(llvm::StringRef name) const { return getStored(stateOf(name)); }
  // True for a floating-point state that one function writes and another only reads, such as a gradient.
  bool isAccumulator(llvm::StringRef name) const { return ladders.contains(stateOf(name)); }

  // Returns the cast of the terms that are written to an accumulator of a wider type, or are added to it first. Null if
  // there is none.
  CastOp wideningOf(WriteOp write) const;
  // True if the op widens terms for an accumulator that does not hold the terms of all ranks. They are reduced in their
  // own type.
  bool isReducedBefore(mlir::Operation *widening) const;

  // True if every accumulator is stored in a form to which the written values can be brought. Changes the guesses of
  // the others. `made` returns the form in which a value is made.
  bool settle(llvm::function_ref<ShardingAttr(mlir::Value)> made);

private:
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Operation *, ShardingAttr> fixed;          // of states that are no accumulators
  llvm::DenseMap<mlir::Operation *, StorageLadder> ladders;       // of accumulators
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> widenings; // the state of the accumulator, by wideningOf
};

} // namespace cleave

#endif

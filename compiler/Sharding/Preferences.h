// The form that a value prefers, because it is written to a state of that form.
//
//   a split state            its split
//   an owner's state         the owner's
//   a parameter in @update   the owner's, with a parameter server: the owner computes it
//
// In @update, the values that such a value is computed from prefer what its loops make of that form. In a function of
// samples the data axes split samples, so only the written value prefers it, and the terms that are widened for it.
#ifndef CLEAVE_COMPILER_SHARDING_PREFERENCES_H
#define CLEAVE_COMPILER_SHARDING_PREFERENCES_H

#include "compiler/Sharding/StateForms.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cleave {

// True for a function of samples: it has arguments, and the data axes split samples in it.
inline bool runsPerMicroBatch(mlir::func::FuncOp function) { return function.getNumArguments() > 0; }

class Preferences {
public:
  // `ownerAxes` are those of a parameter server; empty without one.
  Preferences(const StateForms &states, MeshAttr mesh, llvm::ArrayRef<mlir::Attribute> ownerAxes)
      : states(states), mesh(mesh), ownerAxes(ownerAxes) {}

  void clear() { preferred.clear(); }
  // Adds the preferences of the function's values. A value that is written to several states prefers the last one.
  void collect(mlir::func::FuncOp function);
  // Returns the form that the value prefers; null if it has none.
  ShardingAttr of(mlir::Value value) const { return preferred.lookup(value); }

private:
  void collectWritten(WriteOp write);
  void preferForOperands(mlir::Operation *op);

  const StateForms &states;
  MeshAttr mesh;
  llvm::ArrayRef<mlir::Attribute> ownerAxes;
  llvm::DenseMap<mlir::Value, ShardingAttr> preferred;
};

} // namespace cleave

#endif

// Decides the sharding of every value of a module: the form in which it is made, and the form in which each op uses it.
//
// The shardings of function arguments and results (`cleave.batch_dim` is split over the data axes) and the storage of
// states are given. From there:
//   1. forward: an op takes over the splits of its operands if its loops allow it. If operands disagree, the one that
//      costs most to move keeps its split. A split contraction makes a partial result. A partial value passes through
//      linear ops (Linearity.h). It is reduced before all other ops, and before ops that make more elements of it,
//      unless an accumulator reduces all of these elements anyway;
//   2. backward: a whole value that every user wants split in the same way is made split, if that moves nothing:
//      broadcasts, random numbers, splat constants.
// StateStorage.h says how parameters, gradients and optimizer states are to be stored. Other states are whole, except
// for *accumulators* (floating-point states that one function writes and another only reads, such as the loss's sum).
// They are stored as they are written, partial or split.
//
// Two rules apply between storage and use:
//   - in a function of samples (one with arguments) the data axes split samples. A value that is stored split over them
//     is gathered when it is read, or after ops that narrow it (a cast of a parameter: ranks cast their parts, and
//     fewer bytes are gathered). In @update nothing else uses these axes, and the arithmetic stays split as its states
//     are;
//   - a partial value that is written to a split state is reduced to that split (a reduce_scatter), not to the whole.
// With a parameter server, a value that is written to an owner's state, or in @update to a parameter, is computed by
// the owner from the values that it has: partial operands are reduced to it (a reduce). For other uses, such a value is
// broadcast.
//
// The forward walk visits each op once, after the ops that make its operands. The rules below are asked in this order,
// and the first one that answers decides:
//
//   rule          answers for                                        uses operands as            makes the result
//   passPartial   a linear op of terms of one sum                    terms                       a term of that sum
//   passOwned     an op for an owner, of what not all ranks have     the owner has them          the owner's
//   passPreferred a linear op of other terms, for a split state,     the state is split          split so
//                 and the sum of the terms that such a cast widens
//   setLoops      all others                                         reduced, in a split that    as the loops are split
//                                                                    the loops take
//
// Invariant: before an op is visited, the form in which each operand is made is known. Afterwards, so are the form in
// which the op uses each operand, and the form in which it makes each result from operands in these forms. A rule sets
// all of these or nothing, so that the order of rules only says which one is preferred. `partition` moves the data that
// must move between the form in which a value is made and the one in which it is used.
//
// The storage of accumulators is needed before it is known what is written to them. It is guessed (StateForms.h), and
// all functions are propagated again if a guess was wrong. A guess only goes down a ladder, so that this ends: each
// round but the last takes an accumulator a step down, and there are two steps.
//
// Terms of an accumulator of a wider type (`cleave.term_type`) are reduced before they are widened, if each micro-batch
// reduces them: the cast and the sum after it are then of the accumulator's form. If the accumulator holds terms, the
// sums are reduced, in the accumulator's type.
//
// Examples. `dp`: x [["dp"], []], w whole -> matmul [["dp"], []]. The gradient of w contracts the split dimension, so
// it is partial over "dp". @g is written partial. @update uses it whole: one all_reduce. `fsdp`, all split: @w is read
// [["fsdp"]] and used [[]]: an all_gather in each function. Its gradient is written [["fsdp"]]: a reduce_scatter.
// @update moves nothing.
#ifndef CLEAVE_COMPILER_SHARDING_PROPAGATION_H
#define CLEAVE_COMPILER_SHARDING_PROPAGATION_H

#include "compiler/Sharding/Preferences.h"
#include "compiler/Sharding/ReshardPlanner.h"
#include "compiler/Sharding/StateForms.h"
#include "compiler/Sharding/TermRules.h"

#include <optional>

namespace cleave {

class Propagation {
public:
  Propagation(mlir::ModuleOp module, MeshAttr mesh, llvm::ArrayRef<std::string> dataAxes, const StatePolicy &policy);
  Propagation(const Propagation &) = delete; // its parts refer to each other
  Propagation &operator=(const Propagation &) = delete;

  // Fails with a diagnostic if a given sharding cannot be met.
  llvm::LogicalResult run();

  ShardingAttr getMade(mlir::Value value) const { return made.lookup(value); }
  ShardingAttr getUsed(mlir::OpOperand &operand) const { return used.lookup(&operand); }
  ShardingAttr getStorage(StateOp state) const { return states.getStored(state); }
  // Returns the module's functions, each after those whose results it takes.
  llvm::SmallVector<mlir::func::FuncOp> inOrder() const;
  // Returns the value that another function returns as this residual or edge. Null for other arguments, and if no
  // function returns it.
  mlir::Value residualSource(mlir::BlockArgument argument) const;
  // Returns the ops to decompose before the propagation is run again, because a dimension that they reduce is split:
  // composites, and products with a bias.
  llvm::ArrayRef<mlir::Operation *> opsToDecompose() const { return toDecompose; }
  // Returns the axes on which some states and values have an owner; none without a parameter server.
  llvm::SmallVector<llvm::StringRef> getOwnerAxes() const;

private:
  llvm::LogicalResult propagate();
  llvm::LogicalResult setArguments(mlir::func::FuncOp function);
  llvm::FailureOr<ShardingAttr> portSharding(mlir::func::FuncOp function, mlir::Type type, mlir::Attribute batchDim,
                                             const llvm::Twine &what);
  ShardingAttr offered(mlir::OpOperand &operand);
  void forward(mlir::func::FuncOp function);
  void forwardOp(mlir::Operation *op);
  // The rules before setLoops. Each is about one op. If it returns false, it has changed nothing, and the next rule is
  // asked.
  bool passPartial(mlir::Operation *op);
  bool passOwned(mlir::Operation *op);
  bool passPreferred(mlir::Operation *op);
  void shareReductions(mlir::func::FuncOp function);
  void setLoops(mlir::Operation *op, llvm::ArrayRef<ShardingAttr> operands);
  llvm::LogicalResult setReturn(mlir::func::FuncOp function);
  void backward(mlir::func::FuncOp function);
  void refine(mlir::Operation *op);
  static ShardingAttr wholeForm(mlir::Type type);

  mlir::ModuleOp module;
  MeshAttr mesh;
  llvm::SmallVector<mlir::Attribute> dataAxes;
  bool hasServer;
  llvm::DenseMap<mlir::Value, ShardingAttr> made;
  llvm::DenseMap<mlir::OpOperand *, ShardingAttr> used;
  StateForms states;
  Preferences preferences;
  TermRules terms;
  llvm::SmallVector<mlir::Operation *> toDecompose;
};

} // namespace cleave

#endif

// Decides the sharding of every value of a module: where it is made, and in which form each op uses it.
//
// Fixed points are the function arguments and results (`cleave.batch_dim` is split over the data axes), and the storage
// of states. From there:
//   1. forward: an op takes the splits of its operands where its loops allow; of operands that disagree, the one stays
//      that costs most to move. A split contraction makes a partial result; a partial value passes linear ops
//      (Linearity.h) and is resolved before all others, and before what makes more of it, unless an accumulator
//      reduces all of that anyway;
//   2. backward: a whole value that every user wants split in the same way is made split, if that moves nothing:
//      broadcasts, random numbers, splat constants.
// Storage: StateStorage.h says how parameters, gradients and optimizer states are to be stored. Other states are whole,
// but for *accumulators* (floating-point states that one function writes and another only reads: the loss's sum), which
// are kept as they are written, partial or split.
//
// Between storage and use two rules stand:
//   - in a function of samples (one with arguments) the data axes split samples: what is stored split over them is
//     gathered where it is read, or after ops that narrow it (a cast of a parameter: ranks cast their parts, and fewer
//     bytes are gathered). In @update nothing else uses these axes, and the arithmetic stays split as its states;
//   - a partial value that ends up in a split state is reduced to that split (a reduce_scatter), not to the whole.
// With a parameter server what ends up in an owner's state, or in @update in a parameter, is computed by the owner of
// what it has: partial operands are reduced to it (a reduce). Where such a value is used otherwise, it is broadcast.
//
// The forward walk visits each op once, after its operands' makers. The rules below are asked in this order, and the
// first one that answers decides:
//
//   rule          answers for                                        uses operands as            makes the result
//   passPartial   a linear op of terms of one sum                    terms                       a term of that sum
//   passOwned     an op for an owner, of what not all ranks have     the owner has them          the owner's
//   passPreferred a linear op of other terms, for a split state      the state is split          split so
//   setLoops      all others                                         reduced, in a split that    as the loops are split
//                                                                    the loops take
//
// Invariant: before an op is visited, every operand has a form in which it is made. Afterwards every operand has a form
// in which the op uses it, and every result one in which the op makes it of operands so used. A rule sets both or
// nothing, so that the order of rules says no more than which one is preferred. What must move between made and used is
// partition's business.
//
// The storage of accumulators is needed before it is known what is written to them. It is guessed, and all functions
// are propagated again after a guess was wrong. A guess only goes down a ladder (Guess), so that this ends: each
// round but the last takes an accumulator a step down, and there are two steps.
//
// Examples. `dp`: x [["dp"], []], w whole -> matmul [["dp"], []]; w's gradient contracts the split dimension: partial
// over "dp"; @g is written partial; @update uses it whole: one all_reduce. `fsdp`, all split: @w is read [["fsdp"]] and
// used [[]]: an all_gather in each function; its gradient is written [["fsdp"]]: a reduce_scatter; @update moves
// nothing.
#ifndef CLEAVE_COMPILER_SHARDING_PROPAGATION_H
#define CLEAVE_COMPILER_SHARDING_PROPAGATION_H

#include "compiler/Sharding/ReshardPlanner.h"
#include "compiler/Sharding/StateStorage.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace cleave {

class Propagation {
public:
  Propagation(mlir::ModuleOp module, MeshAttr mesh, llvm::ArrayRef<std::string> dataAxes, const StatePolicy &policy);

  // Fails with a diagnostic where a fixed point cannot be met.
  llvm::LogicalResult run();

  ShardingAttr getMade(mlir::Value value) const { return made.lookup(value); }
  ShardingAttr getUsed(mlir::OpOperand &operand) const { return used.lookup(&operand); }
  ShardingAttr getStorage(StateOp state) const { return storage.lookup(state); }
  // The module's functions, each after those whose results it takes.
  llvm::SmallVector<mlir::func::FuncOp> inOrder() const;
  // What another function returns as this residual or edge; null for another argument, and where no function does.
  mlir::Value residualSource(mlir::BlockArgument argument) const;
  // Ops that are to be decomposed, and the propagation to be run again: composites of which a reduced dimension came in
  // split, products with a bias of which the contracted one did.
  llvm::ArrayRef<mlir::Operation *> getBlockedComposites() const { return blocked; }
  // Axes on which some states and values have an owner; none without a parameter server.
  llvm::SmallVector<llvm::StringRef> getOwnerAxes() const;

private:
  llvm::LogicalResult propagate();
  llvm::LogicalResult setArguments(mlir::func::FuncOp function);
  llvm::FailureOr<ShardingAttr> portSharding(mlir::func::FuncOp function, mlir::Type type, mlir::Attribute batchDim,
                                             const llvm::Twine &what);
  void collectPreferred(mlir::func::FuncOp function);
  void preferForOperands(mlir::Operation *op);
  ShardingAttr offered(mlir::OpOperand &operand);
  void forward(mlir::func::FuncOp function);
  void forwardOp(mlir::Operation *op);
  // The rules before setLoops. Each is about one op, and false leaves it, unchanged, to the next.
  bool passPartial(mlir::Operation *op);
  bool passOwned(mlir::Operation *op);
  bool passPreferred(mlir::Operation *op);
  bool isSummedAnyway(mlir::Operation *widening) const;
  std::optional<bool> meetsTerms(mlir::Operation *user, mlir::Value value) const;
  bool isLessBefore(mlir::Operation *widening, WriteOp write) const;
  bool isEarlierSum(mlir::Value value) const;
  void shareReductions(mlir::func::FuncOp function);
  bool hasServer() const { return policy.dpSync == DpSync::ParameterServer && !dataAxes.empty(); }
  void setLoops(mlir::Operation *op, llvm::ArrayRef<ShardingAttr> operands);
  llvm::LogicalResult setReturn(mlir::func::FuncOp function);
  void backward(mlir::func::FuncOp function);
  void refine(mlir::Operation *op);
  void initStorage();
  bool settleStorage();
  void guessAgain(mlir::Operation *state, ShardingAttr written);
  static ShardingAttr whole(mlir::Type type);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  MeshAttr mesh;
  StatePolicy policy;
  llvm::SmallVector<mlir::Attribute> dataAxes;
  llvm::DenseMap<mlir::Value, ShardingAttr> made;
  llvm::DenseMap<mlir::OpOperand *, ShardingAttr> used;
  llvm::DenseMap<mlir::Value, ShardingAttr> preferred; // the split or owner's state that a value ends up in
  llvm::DenseMap<mlir::Operation *, ShardingAttr> storage;
  // How an accumulator is stored. Each guess needs more memory or traffic than the one before, and more can be written.
  enum class Guess {
    Wanted,    // as the policy wants it, or partial as terms are
    AsWritten, // without the partial axes, or in the form of what is written
    Whole      // which everything can be made to
  };
  llvm::DenseMap<mlir::Operation *, Guess> guesses;
  llvm::SmallVector<mlir::Operation *> blocked;
};

// `sharding` without partial axes: what a non-linear use needs.
ShardingAttr resolved(ShardingAttr sharding);

} // namespace cleave

#endif

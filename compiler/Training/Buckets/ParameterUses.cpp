#include "compiler/Training/Buckets/ParameterUses.h"

#include "compiler/Training/Residuals/JointFunction.h"
#include "dialects/Cleave/IR/BlockMarks.h"

using namespace mlir;

namespace cleave {

// An op without operands is made of states only if it is a read or a constant. Positions and random numbers are not.
void StateValues::add(Operation *op) {
  bool isSource = isa<ReadOp>(op) || op->hasTrait<OpTrait::ConstantLike>();
  bool isMade = op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), [&](Value v) { return contains(v); });
  if (op->getNumResults() > 0 && (isSource || isMade))
    made.insert(op);
}

ParameterUses::ParameterUses(ArrayRef<func::FuncOp> chunks) {
  for (func::FuncOp chunk : chunks)
    add(chunk);
}

// The first loop numbers the ops. The second one goes backwards, so that it meets all users of a value before the op
// that makes it, and `uses` then has the span of all of them. For example, with y in block 1 (position 3):
//
//   %w = read @w             no use: @w gets the span of the users of %w, which is 3
//   %t = transpose %w        no use, because it is made of states alone: %w gets the span of its users
//   %y = matmul %x, %t       a use at 3
void ParameterUses::add(func::FuncOp function) {
  JointFunction joint(function);
  StateValues ofStates;
  SmallVector<std::pair<Operation *, Span>> ops;
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (joint.backward.contains(&op))
      continue;
    ofStates.add(&op);
    std::optional<int64_t> block = getBlockMark(&op);
    if (block)
      begun = std::max(begun, *block + 1);
    // An op without a mark lies after all blocks that have begun: before block 0 it has position 0, between 0 and 1 it
    // has 2.
    int64_t position = block ? 2 * *block + 1 : 2 * begun;
    ops.push_back({&op, {position, position, ordered++}});
  }
  llvm::DenseMap<Operation *, Span> uses; // uses of values that are made of states, by the op that makes them
  for (auto &[op, here] : llvm::reverse(ops)) {
    bool isMade = op->getNumResults() > 0 && ofStates.contains(op->getResult(0));
    auto found = uses.find(op);
    // The forward pass does not use it.
    if (isMade && found == uses.end())
      continue;
    Span span = isMade ? found->second : here;
    if (auto read = dyn_cast<ReadOp>(op))
      spans[read.getState()].join(span);
    for (Value operand : op->getOperands())
      if (ofStates.contains(operand))
        uses[operand.getDefiningOp()].join(span);
  }
}

} // namespace cleave

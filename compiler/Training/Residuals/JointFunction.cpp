#include "compiler/Training/Residuals/JointFunction.h"

#include "dialects/Cleave/IR/Attributes.h"

using namespace mlir;

namespace cleave {

JointFunction::JointFunction(func::FuncOp joint) : function(joint) {
  for (BlockArgument arg : joint.getArguments())
    if (joint.getArgAttr(arg.getArgNumber(), kSeedAttr))
      seeds.insert(seed = arg);
    else if (joint.getArgAttr(arg.getArgNumber(), kCotangentAttr))
      seeds.insert(arg);
  // One pass is enough: the op that makes an operand comes before the ops that use it.
  for (Operation &op : joint.getBody().front().without_terminator())
    if (llvm::any_of(op.getOperands(), [&](Value v) { return isBackward(v); }))
      backward.insert(&op);
    else if (auto write = dyn_cast<WriteOp>(op))
      writtenForward.insert(write.getState());
}

// A read of a state that the forward pass writes (running statistics) is not free: the backward pass would find the new
// value.
bool JointFunction::isFree(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op || op->hasTrait<OpTrait::ConstantLike>())
    return true;
  // A view is either a part of its operand, which is free if the operand is, or a whole that it makes of its operands.
  if (llvm::SmallVector<ByteView> views = byteViews(op); !views.empty() && views.front().whole.getDefiningOp() != op)
    return isFree(views.front().whole); // a part of a bucket
  auto read = dyn_cast<ReadOp>(op);
  return read && !writtenForward.contains(read.getState());
}

} // namespace cleave

#include "compiler/Training/Passes.h"
#include "compiler/Training/Residuals/SplitFunction.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/StepFunctions.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_SPLITBACKWARD
#include "compiler/Training/Passes.h.inc"

namespace {

// Puts the ops that the function's results do not need into the second half: the gradients of weights, and their sums
// over micro-batches.
JointFunction withoutResults(func::FuncOp backward) {
  JointFunction joint;
  joint.function = backward;
  llvm::DenseSet<Operation *> needed;
  Block &block = backward.getBody().front();
  for (Operation &op : llvm::reverse(block)) {
    if (&op != block.getTerminator() && !needed.contains(&op)) {
      joint.backward.insert(&op);
      continue;
    }
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp())
        needed.insert(maker);
  }
  return joint;
}

class SplitBackwardPass : public impl::SplitBackwardBase<SplitBackwardPass> {
public:
  using SplitBackwardBase::SplitBackwardBase;

private:
  void runOnOperation() override {
    if (!getOperation()->removeAttr(kSplitBackwardAttr))
      return;
    for (func::FuncOp function : inStepOrder(getOperation()))
      if (isBackward(function))
        split(function);
  }

  void split(func::FuncOp backward) {
    auto [chunk, half] = backward.getSymName().split('.');
    StringRef variant = half.substr(3); // after "bwd"
    JointFunction joint = withoutResults(backward);
    SplitNames names{(chunk + ".bwd_x" + variant).str(), (chunk + ".bwd_w" + variant).str(), (chunk + ".x:").str()};
    SmallVector<Value> kept = chooseKept(joint, /*keepAll=*/false);
    func::FuncOp inputs = buildFirstHalf(joint, names, kept);
    func::FuncOp weights = buildSecondHalf(joint, names, kept, inputs);
    weights->setAttr(kBackwardOfAttr, backward->getAttr(kBackwardOfAttr));
    dropUnusedArguments(inputs);
    markSharedResiduals(inputs, weights);
    backward.erase();
  }

  // Drops the arguments of residuals that only the gradients of weights need.
  static void dropUnusedArguments(func::FuncOp function) {
    for (BlockArgument argument : llvm::reverse(function.getArguments()))
      if (argument.use_empty())
        (void)function.eraseArgument(argument.getArgNumber());
  }
};

} // namespace
} // namespace cleave

#include "compiler/Training/Passes.h"
#include "compiler/Training/Residuals/SplitFunction.h"
#include "compiler/Training/States.h"
#include "dialects/Cleave/IR/BlockMarks.h"
#include "dialects/Cleave/IR/StepFunctions.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_CHOOSERESIDUALS
#include "compiler/Training/Passes.h.inc"

namespace {

class ChooseResidualsPass : public impl::ChooseResidualsBase<ChooseResidualsPass> {
public:
  using ChooseResidualsBase::ChooseResidualsBase;

private:
  void runOnOperation() override {
    bool any = false;
    for (unsigned number : chunksOf(getOperation()))
      if (func::FuncOp chunk = lookupFunction(getOperation(), chunkName(number)))
        any |= split(chunk);
    if (!any) {
      getOperation().emitError("expected a function @c0 with a seed; differentiate makes it");
      return signalPassFailure();
    }
  }

  // Splits a chunk into forward and backward pass. True if the chunk has a seed. Without trained parameters in it or
  // before it, it has none, and its backward pass is empty.
  bool split(func::FuncOp function) {
    JointFunction joint(function);
    std::string name = function.getSymName().str();
    SplitNames names{name + ".fwd", name + ".bwd", ""};
    SmallVector<Value> residuals = chooseKept(joint, keepAll);
    func::FuncOp forward = buildFirstHalf(joint, names, residuals);
    // The ops of the forward pass keep the marks of their blocks, for recompute-blocks. Those that are repeated in the
    // backward pass have none.
    for (Operation &op : function.getBody().front())
      setBlockMark(&op, std::nullopt);
    setForward(buildSecondHalf(joint, names, residuals, forward), forward.getSymName());
    function.erase();
    return !joint.seeds.empty();
  }
};
} // namespace
} // namespace cleave

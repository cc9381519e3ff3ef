#include "dialects/Cleave/IR/BlockMarks.h"
#include "dialects/Cleave/IR/Narrowing.h"
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/Transforms/Passes.h"

namespace cleave {
#define GEN_PASS_DEF_SINKCASTS
#include "dialects/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

using namespace cleave;
using mlir::Value;

// True if the kernel moves some of the elements of its first operand, which is `table`, and does no arithmetic.
static bool takesFew(mlir::Operation *op, Value table) {
  auto compute = llvm::dyn_cast<ComputeOpInterface>(op);
  auto cost = llvm::dyn_cast<CostOpInterface>(op);
  if (!compute || !cost || compute.getComputeKind() != ComputeKind::Kernel || cost.getCost().flops != 0)
    return false;
  return op->getNumResults() == 1 && op->getOperand(0) == table &&
         tensorTypeOf(op->getResult(0)).getElementType() == tensorTypeOf(table).getElementType() &&
         tensorTypeOf(op->getResult(0)).getNumElements() < tensorTypeOf(table).getNumElements();
}

namespace {
struct SinkCasts : impl::SinkCastsBase<SinkCasts> {
  void runOnOperation() override {
    SmallVector<CastOp> casts;
    getOperation().walk([&](CastOp cast) { casts.push_back(cast); });
    for (CastOp cast : casts) {
      Value table = cast.getResult();
      if (cast.getOperand().getDefiningOp<ReadOp>() && narrows(cast) && table.hasOneUse() &&
          takesFew(*table.user_begin(), table))
        sink(cast, *table.user_begin());
    }
  }

  static void sink(CastOp cast, mlir::Operation *user) {
    Value taken = user->getResult(0);
    mlir::RankedTensorType narrow = tensorTypeOf(taken);
    user->setOperand(0, cast.getOperand());
    taken.setType(narrow.clone(tensorTypeOf(cast.getOperand()).getElementType()));
    mlir::OpBuilder builder(user->getContext());
    builder.setInsertionPointAfter(user);
    auto sunk = CastOp::create(builder, cast.getLoc(), narrow, taken);
    setBlockMark(sunk, getBlockMark(user));
    taken.replaceAllUsesExcept(sunk, sunk);
    cast.erase();
  }
};
} // namespace

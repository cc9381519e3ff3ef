#include "dialects/Cleave/IR/BlockMarks.h"
#include "dialects/Cleave/IR/Narrowing.h"
#include "dialects/Cleave/Transforms/Passes.h"

namespace cleave {
#define GEN_PASS_DEF_SINKCASTS
#include "dialects/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

using namespace cleave;
using mlir::Value;

static mlir::RankedTensorType typeOf(Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()); }

// True if the kernel moves some of the elements of its first operand, which is `table`, and does no arithmetic.
static bool takesFew(mlir::Operation *op, Value table) {
  auto compute = llvm::dyn_cast<ComputeOpInterface>(op);
  auto cost = llvm::dyn_cast<CostOpInterface>(op);
  if (!compute || !cost || compute.getComputeKind() != ComputeKind::Kernel || cost.getCost().flops != 0)
    return false;
  return op->getNumResults() == 1 && op->getOperand(0) == table &&
         typeOf(op->getResult(0)).getElementType() == typeOf(table).getElementType() &&
         typeOf(op->getResult(0)).getNumElements() < typeOf(table).getNumElements();
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
    mlir::RankedTensorType narrow = typeOf(taken);
    user->setOperand(0, cast.getOperand());
    taken.setType(narrow.clone(typeOf(cast.getOperand()).getElementType()));
    mlir::OpBuilder builder(user->getContext());
    builder.setInsertionPointAfter(user);
    auto sunk = CastOp::create(builder, cast.getLoc(), narrow, taken);
    setBlockMark(sunk, getBlockMark(user));
    taken.replaceAllUsesExcept(sunk, sunk);
    cast.erase();
  }
};
} // namespace

#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/Transforms/Passes.h"

namespace cleave {
#define GEN_PASS_DEF_FORMEPILOGUES
#include "dialects/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

using namespace cleave;
using mlir::Value;

// Returns the vector that `value` repeats along its last dimension; null if it is not such a value. A vector of one
// element is repeated as a scalar.
static Value vectorOf(mlir::OpBuilder &builder, Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return {};
  int64_t last = tensorTypeOf(value).getRank() - 1;
  Value repeated = broadcast.getOperand();
  if (broadcast.getDims() == llvm::ArrayRef(last))
    return repeated;
  if (last < 0 || tensorTypeOf(repeated).getRank() != 0 || tensorTypeOf(value).getDimSize(last) != 1)
    return {};
  return ReshapeOp::create(builder, value.getLoc(), tensorTypeOf(repeated).clone({1}), repeated);
}

// Returns the kernel whose result `value` is, perhaps with another arrangement of its rows. The result must have no
// other uses.
static ComputeOpInterface kernelOf(Value value) {
  int64_t columns = tensorTypeOf(value).getRank() > 0 ? tensorTypeOf(value).getShape().back() : 0;
  while (value.hasOneUse() && tensorTypeOf(value).getRank() > 0 && tensorTypeOf(value).getShape().back() == columns) {
    auto reshape = value.getDefiningOp<ReshapeOp>();
    if (!reshape) {
      auto compute = llvm::dyn_cast_if_present<ComputeOpInterface>(value.getDefiningOp());
      return compute && compute.getComputeKind() == ComputeKind::Kernel && compute->getNumResults() == 1
                 ? compute
                 : ComputeOpInterface();
    }
    value = reshape.getOperand();
  }
  return {};
}

static bool formEpilogue(AddOp add, Value sum, Value addend) {
  ComputeOpInterface kernel = kernelOf(sum);
  if (!kernel)
    return false;
  mlir::OpBuilder builder(add);
  Value vector = vectorOf(builder, addend);
  Value whole = vector ? kernel.withBias(builder, vector) : Value();
  if (!whole)
    return false;
  whole.getDefiningOp()->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
  if (whole.getType() != add.getType())
    whole = ReshapeOp::create(builder, add.getLoc(), add.getType(), whole);
  add.replaceAllUsesWith(whole);
  add.erase();
  while (mlir::Operation *unused = sum.getDefiningOp()) {
    bool isKernel = unused == kernel.getOperation();
    if (!isKernel)
      sum = unused->getOperand(0);
    unused->erase();
    if (isKernel)
      break;
  }
  return true;
}

namespace {
struct FormEpilogues : impl::FormEpiloguesBase<FormEpilogues> {
  using FormEpiloguesBase::FormEpiloguesBase;

  void runOnOperation() override {
    SmallVector<AddOp> adds;
    getOperation().walk([&](AddOp add) {
      if (narrowed || tensorTypeOf(add).getElementType().getIntOrFloatBitWidth() <= 16)
        adds.push_back(add);
    });
    for (AddOp add : adds)
      if (!formEpilogue(add, add.getLhs(), add.getRhs()))
        formEpilogue(add, add.getRhs(), add.getLhs());
  }
};
} // namespace

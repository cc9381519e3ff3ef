#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_SHIFTRANDOMORIGINS
#include "compiler/Training/Passes.h.inc"

namespace {

// [micro * rows, 0, ...]: where the micro-batch's tensor begins in the whole step's.
Value buildOrigin(OpBuilder &builder, Location loc, Value micro, RankedTensorType type) {
  Arithmetic a(builder, loc);
  Value first = a.reshape(a.scale(micro, static_cast<double>(type.getDimSize(0))), {1});
  if (type.getRank() == 1)
    return first;
  Value rest = a.splat(RankedTensorType::get({type.getRank() - 1}, builder.getI64Type()), 0);
  return ConcatOp::create(builder, loc, ValueRange{first, rest}, builder.getI64IntegerAttr(0));
}

class ShiftRandomOriginsPass : public impl::ShiftRandomOriginsBase<ShiftRandomOriginsPass> {
public:
  using ShiftRandomOriginsBase::ShiftRandomOriginsBase;

private:
  void runOnOperation() override {
    func::FuncOp model = lookupFunction(getOperation(), "model");
    if (microBatches <= 1 || !model)
      return;
    SmallVector<RandomUniformOp> sites(model.getBody().front().getOps<RandomUniformOp>());
    llvm::erase_if(sites, [](RandomUniformOp op) { return tensorType(op.getResult()).getRank() == 0; });
    if (sites.empty())
      return;
    OpBuilder builder = OpBuilder::atBlockBegin(&model.getBody().front());
    StateOp counter = getScalar(getOperation(), "scalar.micro", builder.getI64Type());
    Value micro = readState(builder, model.getLoc(), counter);
    for (RandomUniformOp op : sites)
      shift(op, micro);
    builder.setInsertionPoint(model.getBody().front().getTerminator());
    WriteOp::create(builder, model.getLoc(), Arithmetic(builder, model.getLoc()).shift(micro, 1), counter.getSymName());
  }

  void shift(RandomUniformOp op, Value micro) {
    OpBuilder builder(op);
    RankedTensorType type = tensorType(op.getResult());
    Value origin = buildOrigin(builder, op.getLoc(), micro, type);
    if (op.getOrigin())
      origin = AddOp::create(builder, op.getLoc(), op.getOrigin(), origin);
    SmallVector<int64_t> whole(op.getGlobalShape());
    whole[0] *= microBatches;
    op.getOriginMutable().assign(origin);
    op.setGlobalShape(whole);
  }
};
} // namespace
} // namespace cleave

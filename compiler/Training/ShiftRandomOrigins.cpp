#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_SHIFTRANDOMORIGINS
#include "compiler/Training/Passes.h.inc"

namespace {

// [0, ..., 0, micro * rows, 0, ...], the rows at `dim`: where the micro-batch's tensor begins in the whole step's.
Value buildOrigin(OpBuilder &builder, Location loc, Value micro, RankedTensorType type, int64_t dim) {
  Arithmetic a(builder, loc);
  SmallVector<Value> parts;
  auto addZeros = [&](int64_t count) {
    if (count > 0)
      parts.push_back(a.splat(RankedTensorType::get({count}, builder.getI64Type()), 0));
  };
  addZeros(dim);
  parts.push_back(a.reshape(a.scale(micro, static_cast<double>(type.getDimSize(dim))), {1}));
  addZeros(type.getRank() - dim - 1);
  return parts.size() == 1 ? parts[0] : ConcatOp::create(builder, loc, parts, builder.getI64IntegerAttr(0));
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

  // A rank's samples of all micro-batches lie together in the global batch, so its rows get a dimension of their own.
  void shift(RandomUniformOp op, Value micro) {
    OpBuilder builder(op);
    RankedTensorType type = tensorType(op.getResult());
    SmallVector<int64_t> shape(type.getShape()), whole(op.getGlobalShape());
    bool hasRanks = dataRanks > 1 && !op.getOrigin() && shape[0] % dataRanks == 0;
    if (hasRanks) {
      shape[0] = whole[0] = shape[0] / dataRanks;
      shape.insert(shape.begin(), dataRanks);
      whole.insert(whole.begin(), dataRanks);
    }
    int64_t rows = hasRanks ? 1 : 0;
    auto part = type.clone(shape);
    Value origin = buildOrigin(builder, op.getLoc(), micro, part, rows);
    if (op.getOrigin())
      origin = AddOp::create(builder, op.getLoc(), op.getOrigin(), origin);
    whole[rows] *= microBatches;
    Value numbers = RandomUniformOp::create(builder, op.getLoc(), part, op.getSeed(), op.getStep(), origin,
                                            op.getSiteAttr(), builder.getDenseI64ArrayAttr(whole));
    op.replaceAllUsesWith(Arithmetic(builder, op.getLoc()).reshape(numbers, type.getShape()));
    op.erase();
  }
};
} // namespace
} // namespace cleave

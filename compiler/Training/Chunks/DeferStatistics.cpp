// Updates batch norm's running statistics once a step, and not in every micro-batch (`--batch-norm local-deferred`, as
// DeferredBatchNorm of torchgpipe and fairscale).
//
// Each micro-batch is normalized by its own statistics in both cases. Let m be the mean and v the (biased) variance of
// one of k micro-batches, each of n values, and let r be the running mean. The micro-batches add up
//
//   sum = sum of (m - r)          squares = sum of (v + (m - r)^2)
//
// From these, the update computes the statistics of all N = k * n values together:
//
//   mean = r + sum/k              variance = (squares/k - (sum/k)^2) * N/(N-1)
//
// They are the statistics of one batch that is not cut into micro-batches. As for such a batch, the running variance is
// the unbiased one (DeferredBatchNorm uses the biased one). Sums of differences from r lose no digits if means are
// large.
//
//   running mean' = momentum * r + (1 - momentum) * mean         and the same for the variance
//
// A layer that normalizes several values in a micro-batch has an m and a v for each of them. They are weighted by their
// parts of the n values.
//
// The importer marks the ops that have running statistics. `defer-statistics` builds the sums, or removes the marks.
// build-update builds the update.
#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_DEFERSTATISTICS
#include "compiler/Training/Passes.h.inc"

namespace {

class DeferStatisticsPass : public impl::DeferStatisticsBase<DeferStatisticsPass> {
public:
  using DeferStatisticsBase::DeferStatisticsBase;

private:
  using Layers = llvm::MapVector<StringAttr, llvm::SmallVector<NormalizeOp>>; // by the running mean's name

  void runOnOperation() override {
    func::FuncOp model = lookupFunction(getOperation(), "model");
    if (!model)
      return;
    Layers layers;
    for (NormalizeOp op : llvm::to_vector(model.getOps<NormalizeOp>()))
      if (auto marks = op->getAttrOfType<DictionaryAttr>(kStatisticsAttr))
        layers[marks.getAs<StringAttr>("mean")].push_back(op);
    if (deferred) {
      SymbolTable symbols(getOperation());
      if (failed(checkApart(layers)))
        return signalPassFailure();
      for (auto &[mean, ops] : layers)
        if (failed(defer(model, symbols, ops)))
          return signalPassFailure();
    }
    for (auto &[mean, ops] : layers)
      for (NormalizeOp op : ops)
        op->removeAttr(kStatisticsAttr);
  }

  // Checks that all uses of a layer have the same two statistics and the same momentum, and that no other layer has one
  // of these states.
  LogicalResult checkApart(const Layers &layers) {
    llvm::DenseSet<Attribute> states;
    for (auto &[mean, ops] : layers) {
      auto marksOf = [](NormalizeOp op) { return op->getAttrOfType<DictionaryAttr>(kStatisticsAttr); };
      auto isOfLayer = [&, first = marksOf(ops.front())](NormalizeOp op) {
        return llvm::all_of(ArrayRef<StringRef>{"variance", "momentum"},
                            [&](StringRef key) { return marksOf(op).get(key) == first.get(key); });
      };
      if (!llvm::all_of(ops, isOfLayer) || !states.insert(mean).second ||
          !states.insert(marksOf(ops.front()).get("variance")).second)
        return NormalizeOp(ops.front()).emitError(
            "two batch norms share a running mean or variance, but differ in the other one or in the momentum; "
            "with --batch-norm local-deferred or sync-deferred, each layer needs a mean and a variance of its own");
    }
    return success();
  }

  // Builds the sums of one layer, which may normalize several values in a micro-batch.
  LogicalResult defer(func::FuncOp model, SymbolTable &symbols, ArrayRef<NormalizeOp> ops) {
    auto marks = NormalizeOp(ops.front())->getAttrOfType<DictionaryAttr>(kStatisticsAttr);
    auto mean = symbols.lookup<StateOp>(marks.getAs<StringAttr>("mean")),
         variance = symbols.lookup<StateOp>(marks.getAs<StringAttr>("variance"));
    if (!mean || !variance)
      return NormalizeOp(ops.front()).emitOpError("expects states in ")
             << kStatisticsAttr << "; got: " << marks.get(mean ? "variance" : "mean");
    for (WriteOp write : llvm::make_early_inc_range(model.getOps<WriteOp>()))
      if (write.getState() == mean.getSymName() || write.getState() == variance.getSymName())
        write.erase();
    Type type = accumulationType(mean.getTensorType().getElementType());
    auto addSum = [&](StateOp of, StringRef name) {
      return addState(symbols, (of.getSymName() + name).str(), of.getTensorType().clone(type), Role::Buffer,
                      retyped(zeroedSegments(of.getSegments()), type), kSumSlot);
    };
    StateOp sum = addSum(mean, ".sum"), squares = addSum(variance, ".sum");
    OpBuilder begin = OpBuilder::atBlockBegin(&model.getBody().front());
    Location loc = ops.front()->getLoc();
    Value old = Arithmetic(begin, loc).cast(readState(begin, loc, mean), type);
    Value sumNow = readState(begin, loc, sum), squaresNow = readState(begin, loc, squares);
    int64_t count = 0;
    for (NormalizeOp op : ops)
      count += countOf(op);
    for (NormalizeOp op : ops) {
      OpBuilder builder(op->getContext());
      builder.setInsertionPointAfter(op);
      Arithmetic a(builder, op.getLoc());
      double part = static_cast<double>(countOf(op)) / static_cast<double>(count);
      auto addPart = [&](Value total, Value value) { return a.add(total, part == 1 ? value : a.scale(value, part)); };
      Value moved = a.sub(a.cast(ofFirstGroup(builder, op.getMean()), type), old);
      sumNow = addPart(sumNow, moved);
      Value variance = a.cast(ofFirstGroup(builder, op.getVariance()), type);
      squaresNow = addPart(squaresNow, a.add(variance, a.mul(moved, moved)));
    }
    OpBuilder end(model.getBody().front().getTerminator());
    WriteOp::create(end, loc, sumNow, sum.getSymName());
    WriteOp::create(end, loc, squaresNow, squares.getSymName());
    NamedAttrList note(marks);
    note.erase("use");
    note.set("terms", begin.getI64IntegerAttr(microBatches));
    note.set("count", begin.getI64IntegerAttr(count));
    note.set("sum", sum.getSymNameAttr());
    note.set("squares", squares.getSymNameAttr());
    mean->setAttr(kDeferredAttr, note.getDictionary(&getContext()));
    return success();
  }

  // Returns how many values of a channel the op normalizes together.
  static int64_t countOf(NormalizeOp op) {
    return op->getAttrOfType<DictionaryAttr>(kStatisticsAttr).getAs<IntegerAttr>("count").getInt();
  }

  // Returns the statistics of the first group, whose running statistics count; `perGroup` is [groups, channels]. It is
  // a sum over all groups, because a slice of a sharded dimension would need a gather.
  static Value ofFirstGroup(OpBuilder &builder, Value perGroup) {
    RankedTensorType type = tensorType(perGroup);
    Arithmetic a(builder, perGroup.getLoc());
    if (type.getDimSize(0) == 1)
      return a.reshape(perGroup, {type.getDimSize(1)});
    Value group = IotaOp::create(builder, perGroup.getLoc(), type.clone(builder.getI64Type()), 0, Value());
    Value isFirst = a.compare(Predicate::Eq, group, a.splat(tensorType(group), 0));
    return ReduceOp::create(builder, perGroup.getLoc(), ReduceKind::Sum, a.select(isFirst, perGroup, a.splat(type, 0)),
                            ArrayRef<int64_t>{0});
  }
};

} // namespace
} // namespace cleave

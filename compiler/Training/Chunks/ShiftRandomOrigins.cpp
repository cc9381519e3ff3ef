#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Chunks/SampleDims.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "runtime/plan/ScalarNames.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_SHIFTRANDOMORIGINS
#include "compiler/Training/Passes.h.inc"

namespace {

// Builds [0, ..., 0, micro * step, 0, ...], with the step at `dim`. This is where the tensor of a micro-batch begins in
// the tensor of the whole step.
Value buildOrigin(OpBuilder &builder, Location loc, Value micro, int64_t rank, int64_t dim, int64_t step) {
  Arithmetic a(builder, loc);
  SmallVector<Value> parts;
  auto addZeros = [&](int64_t count) {
    if (count > 0)
      parts.push_back(a.splat(RankedTensorType::get({count}, builder.getI64Type()), 0));
  };
  addZeros(dim);
  parts.push_back(a.reshape(a.scale(micro, static_cast<double>(step)), {1}));
  addZeros(rank - dim - 1);
  return parts.size() == 1 ? parts[0] : ConcatOp::create(builder, loc, parts, builder.getI64IntegerAttr(0));
}

struct Site {
  RandomUniformOp op;
  SamplePosition samples;
};

// Returns the values that are made of random numbers, perhaps among others.
DenseSet<Value> drawnValues(func::FuncOp model) {
  DenseSet<Value> drawn;
  for (Operation &op : model.getBody().front())
    if (drawsNumbers(&op) || llvm::any_of(op.getOperands(), [&](Value operand) { return drawn.contains(operand); }))
      drawn.insert(op.result_begin(), op.result_end());
  return drawn;
}

// True if the dimension of the numbers where samples could be is one of a value that is computed from parameters, buffers
// and inputs without samples alone: a dropout of weights, or of a part of them, of whole elements, rows or columns. Sharing
// other dimensions says nothing: a latent vector of each sample may be scaled by a parameter.
bool isUsedWithWeights(func::FuncOp model, const DenseSet<Value> &drawn, Value numbers, SamplePosition room) {
  SampleDims dims(model, numbers, room);
  auto isWeight = [&](Value value) { return !drawn.contains(value) && dims.get(value).has_value(); };
  return llvm::any_of(model.getArguments(), isWeight) ||
         llvm::any_of(model.getBody().front(), [&](Operation &op) { return llvm::any_of(op.getResults(), isWeight); });
}

// Returns the position of as many samples as a batch has, in the first dimension that has room for them.
std::optional<SamplePosition> findRoom(RankedTensorType type, int64_t samples) {
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (size > 0 && size % samples == 0)
      return SamplePosition{static_cast<int64_t>(dim), size / samples, samples};
  return std::nullopt;
}

// Returns the ops whose random numbers differ from sample to sample. Three kinds of numbers are told apart:
//   - numbers that are used with samples (a dropout of activations). If the samples' dimension is not known, it is taken
//     to be the first, so that micro-batches at least get different numbers;
//   - a dropout of weights, and numbers that have no room for a batch, stay as they are;
//   - others, that no sample reaches: the latent vectors of a generator, whose shape alone comes from the batch. They
//     are taken to be samples. With the same numbers in each micro-batch, the model would draw fewer numbers.
SmallVector<Site> findSites(func::FuncOp model) {
  SampleDims dims(model);
  std::optional<SamplePosition> batch;
  for (Value argument : model.getArguments())
    if (!batch && dims.reaches(argument))
      batch = dims.get(argument);
  DenseSet<Value> drawn = drawnValues(model);
  SmallVector<Site> sites;
  for (auto op : model.getBody().front().getOps<RandomUniformOp>()) {
    RankedTensorType type = tensorType(op.getResult());
    if (type.getRank() == 0)
      continue;
    SamplePosition first{0, 1, type.getDimSize(0)};
    if (dims.reaches(op.getResult()) && !dims.get(op.getResult()))
      op.emitRemark("other numbers are drawn here if a step has another number of ranks or micro-batches: the model "
                    "joins, cuts or reorders samples before it uses the numbers");
    if (!batch || dims.reaches(op.getResult()))
      sites.push_back({op, dims.get(op.getResult()).value_or(first)});
    else if (std::optional<SamplePosition> room = findRoom(type, batch->count);
             room && !isUsedWithWeights(model, drawn, op.getResult(), *room))
      sites.push_back({op, *room});
  }
  return sites;
}

class ShiftRandomOriginsPass : public impl::ShiftRandomOriginsBase<ShiftRandomOriginsPass> {
public:
  using ShiftRandomOriginsBase::ShiftRandomOriginsBase;

private:
  void runOnOperation() override {
    func::FuncOp model = lookupFunction(getOperation(), "model");
    if (microBatches <= 1 || !model)
      return;
    for (Operation &op : model.getBody().front())
      if (drawsNumbers(&op) && !isa<RandomUniformOp>(&op)) {
        op.emitOpError("draws numbers whose origin can no longer be shifted; expected shift-random-origins to run "
                       "before the pass that makes this operation");
        return signalPassFailure();
      }
    SmallVector<Site> sites = findSites(model);
    if (sites.empty())
      return;
    OpBuilder builder = OpBuilder::atBlockBegin(&model.getBody().front());
    StateOp counter = getScalar(getOperation(), rt::kMicroScalar, builder.getI64Type());
    Value micro = readState(builder, model.getLoc(), counter);
    for (const Site &site : sites)
      shift(site.op, site.samples, micro);
    builder.setInsertionPoint(model.getBody().front().getTerminator());
    WriteOp::create(builder, model.getLoc(), Arithmetic(builder, model.getLoc()).shift(micro, 1), counter.getSymName());
  }

  // A dimension (outer, samples, inner) is drawn as (outer, ranks, samples of a rank, inner), because the global batch
  // has all micro-batches of a rank together. Sizes of 1 are left out.
  void shift(RandomUniformOp op, SamplePosition samples, Value micro) {
    OpBuilder builder(op);
    RankedTensorType type = tensorType(op.getResult());
    int64_t ranks = op.getOrigin() || samples.count % dataRanks != 0 ? 1 : dataRanks;
    int64_t outer = op.getOrigin() ? 1 : type.getDimSize(samples.dim) / (samples.count * samples.inner);
    int64_t rows = type.getDimSize(samples.dim) / (outer * ranks); // samples of a rank x inner: they are contiguous
    SmallVector<int64_t> shape(type.getShape()), whole(op.getGlobalShape());
    int64_t dim = samples.dim;
    shape[dim] = rows;
    whole[dim] = (op.getOrigin() ? whole[dim] : rows) * microBatches;
    for (int64_t size : {ranks, outer})
      if (size > 1) {
        shape.insert(shape.begin() + samples.dim, size);
        whole.insert(whole.begin() + samples.dim, size);
        ++dim;
      }
    auto part = type.clone(shape);
    Value origin = buildOrigin(builder, op.getLoc(), micro, part.getRank(), dim, rows);
    if (op.getOrigin())
      origin = AddOp::create(builder, op.getLoc(), op.getOrigin(), origin);
    Value numbers = RandomUniformOp::create(builder, op.getLoc(), part, op.getSeed(), op.getStep(), origin,
                                            op.getSiteAttr(), builder.getDenseI64ArrayAttr(whole));
    op.replaceAllUsesWith(Arithmetic(builder, op.getLoc()).reshape(numbers, type.getShape()));
    op.erase();
  }
};
} // namespace
} // namespace cleave

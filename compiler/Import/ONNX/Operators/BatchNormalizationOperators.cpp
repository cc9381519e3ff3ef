// Imports BatchNormalization. It uses running statistics in inference. In training, it uses the statistics of the
// batch, and updates the running ones.
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "llvm/ADT/SetVector.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

struct Inputs {
  Value x, scale, bias, mean, variance;
};

llvm::FailureOr<Inputs> readInputs(OpContext &op) {
  Inputs in{op.value(0), op.value(1), op.value(2), op.value(3), op.value(4)};
  if (failed(op.expectFloat(in.x)) || failed(op.expectRank(in.x, 1, 8)))
    return failure();
  if (rankOf(in.x) == 1) // samples of one channel
    in.x = op.emit.reshape(in.x, {shapeOf(in.x)[0], 1});
  for (Value *v : {&in.scale, &in.bias, &in.mean, &in.variance}) {
    if (shapeOf(*v) != llvm::ArrayRef<int64_t>{shapeOf(in.x)[1]} || !isFloat(*v))
      return op.fail("scale, bias, mean and variance must have shape [" + llvm::Twine(shapeOf(in.x)[1]) +
                     "] and floating-point elements; got " + formatShape(shapeOf(*v)));
    *v = op.emit.cast(*v, elementOf(in.x));
  }
  return in;
}

// (x - mean) * (scale / sqrt(variance + epsilon)) + bias. The factor is computed once for each channel.
Value emitInference(OpContext &op, const Inputs &in, double epsilon) {
  Emitter &emit = op.emit;
  auto spread = [&](Value v) { return emit.broadcastDims(v, shapeOf(in.x), {1}); };
  Value factor = emit.mul(in.scale, emit.unary<RsqrtOp>(emit.add(in.variance, epsilon)));
  Value y = emit.mul(emit.sub(in.x, spread(in.mean)), spread(factor));
  return emit.add(y, spread(in.bias));
}

// Returns the first group's statistic as a sum over all groups. A slice of a split dimension would need a gather, but
// the sum is an all-reduce.
Value ofFirstGroup(Emitter &emit, Value perGroup) {
  Value group = emit.iota(0, RankedTensorType::get(shapeOf(perGroup), emit.i64()));
  Value first = emit.compare(Predicate::Eq, group, 0.0);
  return emit.reduce(ReduceKind::Sum, emit.select(first, perGroup, emit.splat(0.0, typeOf(perGroup))), {0});
}

// new = momentum * running + (1 - momentum) * batch. If there are several groups, the first one's statistic counts,
// because PyTorch's DDP broadcasts the buffers of rank 0 before each step.
Value updated(Emitter &emit, Value running, Value perGroup, double momentum) {
  Value batch = shapeOf(perGroup)[0] == 1 ? emit.reshape(perGroup, shapeOf(running)) : ofFirstGroup(emit, perGroup);
  return emit.add(emit.mul(running, momentum), emit.mul(batch, 1 - momentum));
}

// Adds an attribute for defer-statistics, which may update the running statistics in another way. `use` numbers the
// layer's uses: if a layer normalizes one tensor twice, both uses count, and the two equal ops must not be merged.
void markStatistics(OpContext &op, mlir::Operation *normalize, double momentum, double count) {
  mlir::Builder &builder = op.emit.builder;
  normalize->setAttr(
      kStatisticsAttr,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("mean", builder.getStringAttr(op.state(3))),
           builder.getNamedAttr("variance", builder.getStringAttr(op.state(4))),
           builder.getNamedAttr("momentum", builder.getF64FloatAttr(momentum)),
           builder.getNamedAttr("count", builder.getI64IntegerAttr(static_cast<int64_t>(count))),
           builder.getNamedAttr("use", builder.getI64IntegerAttr(op.environment().writesOf(op.state(3))))}));
}

// Defines the statistics as outputs of the node, in the type of the running ones.
void giveStatistics(OpContext &op, Value mean, Value variance) {
  for (auto [i, statistic] : {std::pair<size_t, Value>{1, mean}, {2, variance}})
    if (op.wants(i))
      (void)op.result(i, op.emit.cast(statistic, elementOf(op.value(i + 2))));
}

// Normalizes each group of samples separately: [n, c, s...] is viewed as [g, n/g, c, s] and normalized over dimensions
// 1 and 3.
llvm::FailureOr<Value> emitTraining(OpContext &op, const Inputs &in, double epsilon) {
  Emitter &emit = op.emit;
  Shape shape(shapeOf(in.x));
  int64_t groups = op.mode.batchNormGroups;
  if (groups < 1 || shape[0] % groups != 0)
    return op.fail("the global batch " + llvm::Twine(shape[0]) + " is not a multiple of the " + llvm::Twine(groups) +
                   " batch-norm groups");
  int64_t area = *countElements(llvm::ArrayRef<int64_t>(shape).drop_front(2));
  Shape grouped{groups, shape[0] / groups, shape[1], area};
  double count = double(grouped[1]) * double(area);
  if (count < 2)
    return op.fail("needs more than one value per channel to train; the batch (or group) has " +
                   llvm::Twine(int64_t(count)));
  auto normalized = emit.normalize(emit.reshape(in.x, grouped), {1, 3}, epsilon);
  Value y = emit.mul(normalized.result, emit.broadcastDims(in.scale, grouped, {2}));
  y = emit.add(y, emit.broadcastDims(in.bias, grouped, {2}));

  double momentum = op.floatAttr("momentum", 0.9);
  // PyTorch's convention: the running variance is the unbiased one.
  Value unbiased = emit.mul(normalized.variance, count / (count - 1));
  Value mean = updated(emit, in.mean, normalized.mean, momentum),
        variance = updated(emit, in.variance, unbiased, momentum);
  if (!op.state(3).empty() && !op.state(4).empty()) {
    for (auto [i, statistic] : {std::pair<size_t, Value>{3, mean}, {4, variance}}) {
      mlir::Type element = elementOf(op.environment().readState(op.state(i)));
      op.environment().writeState(op.state(i), emit.cast(statistic, element));
    }
    markStatistics(op, normalized.mean.getDefiningOp(), momentum, count);
  } else {
    op.note(op.describe() + ": running mean and variance are no initializers and are not updated");
  }
  giveStatistics(op, mean, variance);
  return emit.reshape(y, shape);
}

// True if the graph reduces something to this statistic. Then it is not a running statistic, and the node is the
// formula that it states. torch.export writes a normalization by the values' own statistics in this form (weights that
// are standardized, as in NFNets).
bool isReduced(Budget &budget, Value statistic) {
  llvm::SetVector<mlir::Operation *> open;
  auto add = [&](Value value) {
    if (mlir::Operation *op = value.getDefiningOp())
      open.insert(op);
  };
  add(statistic);
  for (size_t i = 0; i < open.size(); ++i) {
    mlir::Operation *op = open[i];
    if (!budget.draw(Budget::Kind::Work, 1 + op->getNumOperands()))
      return false;
    if (llvm::isa<ReduceOp>(op))
      return true;
    llvm::for_each(op->getOperands(), add);
  }
  return false;
}

// True if the graph computes the statistics. An initializer is a running statistic, even if an earlier use of the layer
// has updated it by a value that it reduced.
bool isGiven(OpContext &op, const Inputs &in) {
  return op.intAttr("training_mode", 0) == 0 && op.state(3).empty() && op.state(4).empty() &&
         isReduced(op.emit.budget, in.mean) && isReduced(op.emit.budget, in.variance);
}

// True if the layer is in eval(), and others are not.
bool isKept(OpContext &op) { return op.mode.keptNorms && op.has(3) && op.mode.keptNorms->contains(op.inputName(3)); }

LogicalResult importBatchNormalization(OpContext &op) {
  auto inputs = readInputs(op);
  if (failed(inputs))
    return failure();
  double epsilon = op.floatAttr("epsilon", 1e-5);
  // In training, too, frozen statistics are treated as in inference.
  Shape shape(shapeOf(op.value(0)));
  if (op.mode.training && op.mode.batchNormGroups > 0 && !isKept(op) && !isGiven(op, *inputs)) {
    auto y = emitTraining(op, *inputs, epsilon);
    return failed(y) ? failure() : op.result(op.emit.reshape(*y, shape));
  }
  // A file in training form declares the new statistics as outputs. In inference they are the old ones.
  giveStatistics(op, inputs->mean, inputs->variance);
  return op.result(op.emit.reshape(emitInference(op, *inputs, epsilon), shape));
}

} // namespace

void cleave::onnx_import::addBatchNormalizationOperators(OperatorTable &table) {
  table.add("BatchNormalization", 13, inF32<importBatchNormalization>);
}

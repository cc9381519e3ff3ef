// SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss, with weights, ignored labels and all reductions.
#include "compiler/Import/ONNX/IndexRange.h"
#include "compiler/Import/ONNX/Loss.h"
#include "compiler/Import/ONNX/OperatorTable.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

Shape allDims(Value value) { return Shape(llvm::to_vector(llvm::seq<int64_t>(0, rankOf(value)))); }

LogicalResult checkInputs(OpContext &op, Value scores, Value labels) {
  if (failed(op.expectFloat(scores)) || failed(op.expectRank(scores, 2, 8)))
    return failure();
  if (isFloat(labels) || llvm::ArrayRef<int64_t>(reducedShape(shapeOf(scores), {1}, false)) != shapeOf(labels))
    return op.fail("labels must be integers of the shape of the scores " + formatShape(shapeOf(scores)) +
                   " without dimension 1; got " + formatShape(shapeOf(labels)));
  return success();
}

// Which labels count. Null when all do: -100 is what every exporter writes when nothing is ignored; labels then decide,
// as in PyTorch.
Value countedLabels(OpContext &op, Value labels) {
  const auto *ignore = op.attribute("ignore_index");
  return ignore ? op.emit.compare(Predicate::Ne, op.emit.cast(labels, op.emit.i64()), double(ignore->i())) : Value();
}

// What every label counts: its class's weight (1 without weights), 0 where it is ignored. Null when all count 1.
llvm::FailureOr<Value> labelWeights(OpContext &op, Value logs, Value labels, Value counted) {
  Emitter &emit = op.emit;
  Value weights;
  if (op.has(2)) {
    Value table = op.value(2);
    if (shapeOf(table) != llvm::ArrayRef<int64_t>{shapeOf(logs)[1]} || elementOf(table) != elementOf(logs))
      return op.fail("weights must have one number of the scores' type for each of the " +
                     llvm::Twine(shapeOf(logs)[1]) + " classes");
    Value spread = emit.broadcastDims(table, shapeOf(logs), {1});
    weights = emit.neg(emitPickedLoss(emit, spread, labels, 1));
  }
  if (counted) {
    Value ones = weights ? weights : emit.splat(1, typeOf(labels).clone(elementOf(logs)));
    weights = emit.select(counted, ones, emit.splat(0, typeOf(ones)));
  }
  return weights;
}

LogicalResult reduceLoss(OpContext &op, Value losses, Value weights) {
  Emitter &emit = op.emit;
  if (weights)
    losses = emit.mul(losses, weights);
  std::string reduction = op.stringAttr("reduction", "mean");
  if (reduction == "none")
    return op.result(losses);
  if (reduction != "sum" && reduction != "mean")
    return op.fail("reduction " + quote(reduction) + " is not known; expected none, sum or mean");
  Value sum = emit.reduce(ReduceKind::Sum, losses, allDims(losses));
  if (reduction == "sum")
    return op.result(sum);
  if (!weights)
    return op.result(emit.div(sum, double(typeOf(losses).getNumElements())));
  return op.result(emit.div(sum, emit.reduce(ReduceKind::Sum, weights, allDims(weights))));
}

LogicalResult importLoss(OpContext &op, Value logs) {
  Value labels = op.value(1);
  const auto *ignore = op.attribute("ignore_index");
  noteLabels(labels, shapeOf(logs)[1], ignore ? std::optional<int64_t>(ignore->i()) : std::nullopt);
  Value counted = countedLabels(op, labels);
  auto weights = labelWeights(op, logs, labels, counted);
  if (failed(weights))
    return failure();
  // An ignored label picks no class: its logarithm may be -inf, which weight 0 would make NaN.
  if (counted)
    labels = op.emit.select(counted, op.emit.cast(labels, op.emit.i64()),
                            op.emit.splat(-1, typeOf(counted).clone(op.emit.i64())));
  return reduceLoss(op, emitPickedLoss(op.emit, logs, labels, 1), *weights);
}

LogicalResult importNegativeLogLikelihoodLoss(OpContext &op) {
  if (failed(checkInputs(op, op.value(0), op.value(1))))
    return failure();
  return importLoss(op, op.value(0));
}

LogicalResult importSoftmaxCrossEntropyLoss(OpContext &op) {
  if (failed(checkInputs(op, op.value(0), op.value(1))))
    return failure();
  Value logs = op.emit.logSoftmax(op.value(0), 1);
  if (op.wants(1))
    (void)op.result(1, logs);
  return importLoss(op, logs);
}

} // namespace

void cleave::onnx_import::addLossOperators(OperatorTable &table) {
  table.add("NegativeLogLikelihoodLoss", 13, inF32<importNegativeLogLikelihoodLoss>, 2, 3);
  table.add("SoftmaxCrossEntropyLoss", 13, inF32<importSoftmaxCrossEntropyLoss>, 2, 3);
}

// Imports SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss, with weights, ignored labels and all reductions.
#include "compiler/Import/ONNX/Operators/IndexRange.h"
#include "compiler/Import/ONNX/Operators/Loss.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "compiler/Import/ONNX/Operators/TorchGradients.h"
#include "dialects/Cleave/IR/Scatter.h"

#include "llvm/Support/Format.h"

#include <cmath>

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

Shape allDims(Value value) { return Shape(llvm::to_vector(llvm::seq<int64_t>(0, rankOf(value)))); }

// Checks labels that are in the file. Labels that are inputs of the model are checked when a program reads them.
LogicalResult checkKnownLabels(OpContext &op, int64_t classes) {
  const Literal *known = op.literal(1);
  const auto *ignore = op.attribute("ignore_index");
  if (!known || classes == 0)
    return success();
  for (int64_t i = 0, count = std::min<int64_t>(known->numElements(), known->isSplat() ? 1 : INT64_MAX); i < count;
       ++i) {
    int64_t label = known->asInt(i);
    if ((label < 0 || label >= classes) && !(ignore && label == ignore->i()))
      return op.fail("the constant labels have " + llvm::Twine(label) + " at element " + llvm::Twine(i) +
                     "; expected classes from 0 to " + llvm::Twine(classes - 1) +
                     (ignore ? ", or " + llvm::Twine(ignore->i()).str() + ", which is ignored" : ""));
  }
  return success();
}

LogicalResult checkInputs(OpContext &op, Value scores, Value labels) {
  if (failed(op.expectFloat(scores)) || failed(op.expectRank(scores, 2, 8)))
    return failure();
  if (isFloat(labels) || llvm::ArrayRef<int64_t>(reducedShape(shapeOf(scores), {1}, false)) != shapeOf(labels))
    return op.fail("labels must be integers of the shape of the scores " + formatShape(shapeOf(scores)) +
                   " without dimension 1; got " + formatShape(shapeOf(labels)));
  return checkKnownLabels(op, shapeOf(scores)[1]);
}

// Without the attribute, every label must be a class. PyTorch's exporters always write it, because its default there is
// -100.
std::optional<int64_t> ignoredLabel(OpContext &op) {
  const auto *ignore = op.attribute("ignore_index");
  return ignore ? std::optional<int64_t>(ignore->i()) : std::nullopt;
}

// Returns the weight of every label: that of its class (1 without weights), or 0 if the label is ignored. Returns null
// if all are 1.
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
  return emitLabelWeights(emit, weights, counted, typeOf(labels).clone(elementOf(logs)));
}

// `losses` has the loss of each label, times its weight.
LogicalResult reduceLoss(OpContext &op, Value losses, Value weights) {
  Emitter &emit = op.emit;
  std::string reduction = op.stringAttr("reduction", "mean");
  if (reduction == "none")
    return op.result(losses);
  if (reduction != "sum" && reduction != "mean")
    return op.fail("reduction " + quote(reduction) + " is not known; expected none, sum or mean");
  return op.result(reduction == "sum" ? emit.reduce(ReduceKind::Sum, losses, allDims(losses))
                                      : emitMeanLoss(emit, losses, weights));
}

// Returns (1 - s) * the label's loss + s / classes * the sum of all classes' losses, as
// torch.nn.CrossEntropyLoss(label_smoothing=s). In the sum, each class is multiplied by its weight. An ignored label
// has no sum.
Value smoothed(OpContext &op, double smoothing, Value losses, Value logs, Value counted) {
  Emitter &emit = op.emit;
  int64_t classes = shapeOf(logs)[1];
  if (op.has(2))
    logs = emit.mul(logs, emit.broadcastDims(op.value(2), shapeOf(logs), {1}));
  Value all = emit.mul(emit.reduce(ReduceKind::Sum, logs, {1}), -smoothing / double(classes));
  if (counted)
    all = emit.select(counted, all, emit.splat(0, typeOf(all)));
  std::string number;
  llvm::raw_string_ostream(number) << llvm::format("%g", smoothing);
  if (op.mode.training == op.mode.inTrainedModule) // noted once, although the evaluation is imported as well
    op.note(op.describe() + ": label_smoothing=" + number +
            " is applied, which the exporter wrote into the node's metadata alone; onnxruntime computes this loss "
            "without it");
  return emit.add(emit.mul(losses, 1 - smoothing), all);
}

// In an inference program, computed labels may be unchecked (compiler/Driver/Model/InputNeeds.h). The loss of a label
// that is not a class is NaN.
Value orNotANumber(OpContext &op, Value losses, Value labels, int64_t classes, Value counted) {
  Emitter &emit = op.emit;
  Value isClass = emit.binary<AndOp>(emit.compare(Predicate::Ge, labels, 0.0),
                                     emit.compare(Predicate::Lt, labels, double(classes)));
  if (counted)
    isClass = emit.binary<OrOp>(isClass, emit.unary<NotOp>(counted));
  return emit.select(isClass, losses, emit.splat(std::nan(""), typeOf(losses)));
}

LogicalResult importLoss(OpContext &op, Value logs, double smoothing = 0) {
  std::optional<int64_t> ignored = ignoredLabel(op);
  Value labels = checkLabels(op.emit, op.emit.cast(op.value(1), op.emit.i64()), shapeOf(logs)[1], ignored);
  Value counted = emitCounted(op.emit, labels, ignored);
  auto weights = labelWeights(op, logs, labels, counted);
  if (failed(weights))
    return failure();
  Value losses = emitPickedLoss(op.emit, logs, emitPickable(op.emit, labels, counted), 1);
  if (labels.getDefiningOp<CheckIndexOp>() && !op.mode.training && !op.mode.inTrainedModule)
    losses = orNotANumber(op, losses, labels, shapeOf(logs)[1], counted);
  if (*weights)
    losses = op.emit.mul(losses, *weights);
  if (smoothing != 0)
    losses = smoothed(op, smoothing, losses, logs, counted);
  return reduceLoss(op, losses, *weights);
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
  return importLoss(op, logs, labelSmoothingOf(op.node()));
}

} // namespace

void cleave::onnx_import::addLossOperators(OperatorTable &table) {
  table.add("NegativeLogLikelihoodLoss", 13, inF32<importNegativeLogLikelihoodLoss>);
  table.add("SoftmaxCrossEntropyLoss", 13, inF32<importSoftmaxCrossEntropyLoss>);
}

#include "compiler/Training/Accuracy.h"

#include "compiler/Training/Arithmetic.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace cleave {

namespace {

struct CrossEntropy {
  LogSoftmaxOp scores;
  Value labels; // integers, of the scores' shape without the class dimension
};

// All ops before the value, nearest first.
SmallVector<Operation *> ancestors(Value value) {
  SmallVector<Operation *> found;
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> queue = {value};
  for (size_t head = 0; head < queue.size(); ++head)
    if (Operation *op = queue[head].getDefiningOp(); op && seen.insert(op).second) {
      found.push_back(op);
      llvm::append_range(queue, op->getOperands());
    }
  return found;
}

// The value behind casts and reshapes that keep the number of elements.
Value stripShape(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<CastOp, ReshapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

// The class dimension that the iota behind `value` counts, in `value`'s shape.
std::optional<int64_t> getIotaDim(Value value) {
  if (auto cast = value.getDefiningOp<CastOp>())
    value = cast.getOperand();
  if (auto iota = value.getDefiningOp<IotaOp>())
    return iota.getDim();
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast || broadcast.getDims().size() != 1)
    return std::nullopt;
  return getIotaDim(broadcast.getOperand()) ? std::optional<int64_t>(broadcast.getDims()[0]) : std::nullopt;
}

// The labels that were spread along `dim`, or null.
Value getSpreadLabels(Value value, int64_t dim) {
  if (auto cast = value.getDefiningOp<CastOp>())
    value = cast.getOperand();
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast || static_cast<int64_t>(broadcast.getDims().size()) != tensorType(value).getRank() - 1 ||
      llvm::is_contained(broadcast.getDims(), dim))
    return nullptr;
  return broadcast.getOperand();
}

std::optional<std::pair<Value, int64_t>> matchHit(Value mask) {
  if (auto cast = mask.getDefiningOp<CastOp>())
    mask = cast.getOperand();
  auto compare = mask.getDefiningOp<CompareOp>();
  if (!compare || compare.getPredicate() != Predicate::Eq)
    return std::nullopt;
  for (auto [iota, labels] : {std::pair(compare.getLhs(), compare.getRhs()), {compare.getRhs(), compare.getLhs()}})
    if (std::optional<int64_t> dim = getIotaDim(iota))
      if (Value found = getSpreadLabels(labels, *dim))
        return std::pair(found, *dim);
  return std::nullopt;
}

// op = select(hit, log_softmax, ...) or log_softmax * cast(hit).
std::optional<CrossEntropy> matchPick(Operation *op) {
  if (!isa<SelectOp, MulOp>(op))
    return std::nullopt;
  for (Value mask : op->getOperands()) {
    auto hit = matchHit(mask);
    if (!hit)
      continue;
    for (Value picked : op->getOperands())
      for (Value v = picked; Operation *source = v.getDefiningOp(); v = source->getOperand(0)) {
        if (auto scores = dyn_cast<LogSoftmaxOp>(source);
            scores && static_cast<int64_t>(scores.getDim()) == hit->second)
          return CrossEntropy{scores, hit->first};
        if (!isa<CastOp, NegOp>(source))
          break;
      }
  }
  return std::nullopt;
}

// Labels that count: classes, and what the masks in the loss's count let pass.
Value buildCounted(Arithmetic &a, CrossEntropy match, Value lossCount) {
  RankedTensorType type = tensorType(match.labels);
  int64_t classes = tensorType(match.scores.getResult()).getDimSize(match.scores.getDim());
  Value counted = a.mask(a.compare(Predicate::Ge, match.labels, a.splat(type, 0)),
                         a.compare(Predicate::Lt, match.labels, a.splat(type, static_cast<double>(classes))));
  for (Operation *op : ancestors(lossCount))
    if (auto compare = dyn_cast<CompareOp>(op))
      if (stripShape(compare.getLhs()) == stripShape(match.labels) ||
          stripShape(compare.getRhs()) == stripShape(match.labels))
        counted = a.mask(counted, a.reshape(compare.getResult(), type.getShape()));
  return counted;
}

} // namespace

std::optional<AccuracySums> buildAccuracy(OpBuilder &builder, Value lossSum, Value lossCount) {
  for (Operation *op : ancestors(lossSum)) {
    std::optional<CrossEntropy> match = matchPick(op);
    if (!match || !isa<IntegerType>(tensorType(match->labels).getElementType()))
      continue;
    Arithmetic a(builder, op->getLoc());
    Value predicted = ArgMaxOp::create(builder, op->getLoc(), match->scores.getOperand(), match->scores.getDim());
    Value labels = a.cast(match->labels, tensorType(predicted).getElementType());
    Value counted = buildCounted(a, *match, lossCount);
    Value correct = a.mask(counted, a.compare(Predicate::Eq, predicted, labels));
    return AccuracySums{a.sum(a.cast(correct, builder.getF32Type())), a.sum(a.cast(counted, builder.getF32Type()))};
  }
  return std::nullopt;
}

} // namespace cleave

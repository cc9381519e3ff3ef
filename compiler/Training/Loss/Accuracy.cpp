#include "compiler/Training/Loss/Accuracy.h"

#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Loss/LossTerms.h"
#include "compiler/Training/Loss/PositionMask.h"
#include "dialects/Cleave/IR/Attributes.h"

using namespace mlir;

namespace cleave {

namespace {

struct CrossEntropy {
  LogSoftmaxOp scores;
  Value labels; // integers, of the scores' shape without the class dimension
};

// Returns the class dimension, in `value`'s shape, along which the iota that `value` is made of counts.
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

// Returns the labels that were broadcast along `dim`, or null.
Value getSpreadLabels(Value value, int64_t dim) {
  if (auto cast = value.getDefiningOp<CastOp>())
    value = cast.getOperand();
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast || static_cast<int64_t>(broadcast.getDims().size()) != tensorType(value).getRank() - 1 ||
      llvm::is_contained(broadcast.getDims(), dim))
    return nullptr;
  return broadcast.getOperand();
}

// A mask that is true at the label's class: `labels` compared with the index along `dim`.
struct Hit {
  Value labels;
  int64_t dim;
};

// Matches a mask that is `value` at the label and the opposite elsewhere.
std::optional<Hit> matchHit(Value mask, bool value) {
  if (auto cast = mask.getDefiningOp<CastOp>())
    mask = cast.getOperand();
  auto compare = mask.getDefiningOp<CompareOp>();
  if (!compare || compare.getPredicate() != (value ? Predicate::Eq : Predicate::Ne))
    return std::nullopt;
  for (auto [iota, labels] : {std::pair(compare.getLhs(), compare.getRhs()), {compare.getRhs(), compare.getLhs()}})
    if (std::optional<int64_t> dim = getIotaDim(iota))
      if (Value found = getSpreadLabels(labels, *dim))
        return Hit{found, *dim};
  return std::nullopt;
}

// Matches the mask of an op that keeps its operand at the label's class and is zero elsewhere: select(hit, x, 0), x *
// hit.
std::optional<Hit> matchPickedBy(const LinearOperand &linear) {
  if (linear.condition)
    return matchHit(linear.condition, linear.isWhere);
  return linear.scale && !linear.divides ? matchHit(linear.scale, true) : std::nullopt;
}

// Matches an op that picks the label's entry of a log_softmax, perhaps after a cast or a negation.
std::optional<CrossEntropy> matchPick(Operation *op) {
  for (const LinearOperand &linear : linearOperands(op)) {
    std::optional<Hit> hit = matchPickedBy(linear);
    if (!hit)
      continue;
    Value picked = op->getOperand(linear.number);
    while (Value inner = getKeptInPlace(picked))
      picked = inner;
    if (auto scores = picked.getDefiningOp<LogSoftmaxOp>(); scores && static_cast<int64_t>(scores.getDim()) == hit->dim)
      return CrossEntropy{scores, hit->labels};
  }
  return std::nullopt;
}

// Returns the labels before changes of type and shape, and before labels that do not count were replaced.
Value rootOf(Value labels) {
  while (Operation *op = labels.getDefiningOp()) {
    auto select = dyn_cast<SelectOp>(op);
    if (Value carried = carriedOperand(op))
      labels = carried;
    else if (select && (getConstantNumber(select.getOnFalse()) || getConstantNumber(select.getOnTrue())))
      labels = getConstantNumber(select.getOnFalse()) ? select.getOnTrue() : select.getOnFalse();
    else
      break;
  }
  return labels;
}

// True if the factor is read from a table at the labels: it is the weight of a class.
bool isClassWeight(Value factor, Value labels) {
  while (Operation *op = factor.getDefiningOp()) {
    if (auto take = dyn_cast<TakeOp>(op))
      return rootOf(take.getIndices()) == rootOf(labels) && !sourcesOf(take.getOperand()).samples;
    SmallVector<LinearOperand, 2> linear = linearOperands(op);
    for (const LinearOperand &each : linear)
      if (std::optional<Hit> hit = matchPickedBy(each))
        return rootOf(hit->labels) == rootOf(labels) && !sourcesOf(op->getOperand(each.number)).samples;
    if (linear.size() != 1 || linear[0].scale || linear[0].condition || !linear[0].usesEachOnce)
      return false;
    factor = op->getOperand(linear[0].number);
  }
  return false;
}

// Builds a mask of the labels that count: those that are classes, at positions that the loss counts. Returns null if
// these positions are not known.
Value buildCounted(OpBuilder &builder, Arithmetic &a, CrossEntropy match, const LossPath &path) {
  RankedTensorType type = tensorType(match.labels);
  PositionMask positions = buildPositionMask(builder, path, static_cast<int64_t>(match.scores.getDim()),
                                             [&](Value factor) { return isClassWeight(factor, match.labels); });
  if (!positions.isKnown)
    return nullptr;
  int64_t classes = tensorType(match.scores.getResult()).getDimSize(match.scores.getDim());
  Value counted = a.mask(a.compare(Predicate::Ge, match.labels, a.splat(type, 0)),
                         a.compare(Predicate::Lt, match.labels, a.splat(type, static_cast<double>(classes))));
  return positions.mask ? a.mask(counted, a.reshape(positions.mask, type.getShape())) : counted;
}

// "the labels of input 'y'"
std::string describeLabels(Value labels) {
  auto argument = dyn_cast<BlockArgument>(rootOf(labels));
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  auto name = function ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr) : StringAttr();
  return name ? "the labels of input '" + name.str() + "'" : "the labels of this one";
}

} // namespace

std::optional<AccuracySums> buildAccuracy(OpBuilder &builder, Value lossSum) {
  auto isPick = [](Operation *op) {
    std::optional<CrossEntropy> match = matchPick(op);
    return match && isa<IntegerType>(tensorType(match->labels).getElementType());
  };
  SmallVector<LossPath> paths = findPaths(lossSum, isPick);
  if (paths.empty())
    return std::nullopt;
  Operation *end = paths.front().end;
  CrossEntropy match = *matchPick(end);
  Arithmetic a(builder, end->getLoc());
  Value counted = buildCounted(builder, a, match, paths.front());
  if (!counted) {
    emitRemark(end->getLoc(), "an evaluation gives no accuracy: which positions the loss counts depends on parameters");
    return std::nullopt;
  }
  if (paths.size() > 1)
    emitRemark(end->getLoc(), "the loss has ")
        << paths.size() << " cross-entropies; the accuracy of an evaluation is that of "
        << describeLabels(match.labels);
  Value predicted = ArgMaxOp::create(builder, end->getLoc(), match.scores.getOperand(), match.scores.getDim());
  Value labels = a.cast(match.labels, tensorType(predicted).getElementType());
  Value correct = a.mask(counted, a.compare(Predicate::Eq, predicted, labels));
  return AccuracySums{a.sum(a.cast(correct, builder.getF32Type())), a.sum(a.cast(counted, builder.getF32Type()))};
}

} // namespace cleave

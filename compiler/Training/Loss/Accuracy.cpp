#include "compiler/Training/Loss/Accuracy.h"

#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Loss/LossTerms.h"
#include "compiler/Training/Loss/PositionMask.h"
#include "dialects/Cleave/IR/Attributes.h"

using namespace mlir;

namespace cleave {

namespace {

// A mask that is true at the label's class: `labels` compared with the index along `dim`.
struct Hit {
  Value labels; // of the mask's shape without `dim`
  int64_t dim;
};

struct CrossEntropy : Hit {
  Value scores;
};

// Returns the value itself and those of which it is made by casts and broadcasts, the last one at the end. Each comes
// with the index of its element that is at (d0, d1, ...) of the value.
SmallVector<std::pair<Value, AffineMap>> originsOf(Value value) {
  AffineMap index = AffineMap::getMultiDimIdentityMap(tensorType(value).getRank(), value.getContext());
  SmallVector<std::pair<Value, AffineMap>> origins = {{value, index}};
  while (auto loops = origins.back().first.getDefiningOp<shard::ShardingInterface>()) {
    Value carried = carriedOperand(loops);
    SmallVector<AffineMap> maps = loops.getIndexingMaps();
    if (!carried || !maps.back().isIdentity())
      break;
    index = maps[llvm::find(loops->getOperands(), carried).getIndex()].compose(index);
    origins.push_back({carried, index});
  }
  return origins;
}

std::optional<Hit> matchLabels(Value spread, Value counter) {
  auto [counting, index] = originsOf(counter).back();
  std::optional<int64_t> counted = countedDim(counting.getDefiningOp());
  auto loop = counted ? dyn_cast<AffineDimExpr>(index.getResult(*counted)) : AffineDimExpr(nullptr);
  if (!loop)
    return std::nullopt;
  AffineMap without =
      AffineMap::getMultiDimIdentityMap(index.getNumDims(), index.getContext()).dropResult(loop.getPosition());
  for (auto [labels, place] : originsOf(spread))
    if (place == without)
      return Hit{labels, loop.getPosition()};
  return std::nullopt;
}

// Matches a mask that is `value` at the label and the opposite elsewhere.
std::optional<Hit> matchHit(Value mask, bool value) {
  auto [compared, index] = originsOf(mask).back();
  std::optional<ComparedValues> compare = comparisonOf(compared.getDefiningOp());
  if (!compare || !index.isIdentity() || compare->predicate != (value ? Predicate::Eq : Predicate::Ne))
    return std::nullopt;
  std::optional<Hit> hit = matchLabels(compare->rhs, compare->lhs);
  return hit ? hit : matchLabels(compare->lhs, compare->rhs);
}

// Matches the mask of an op that is its operand at the label's class and zero elsewhere: select(hit, x, 0), x * hit.
std::optional<Hit> matchPickedBy(const LinearOperand &linear) {
  if (linear.condition)
    return matchHit(linear.condition, linear.isWhere);
  return linear.scale && !linear.divides ? matchHit(linear.scale, true) : std::nullopt;
}

// Matches an op that picks the logarithm of the label's probability, perhaps after a cast or a negation.
std::optional<CrossEntropy> matchPick(Operation *op) {
  for (const LinearOperand &linear : linearOperands(op)) {
    std::optional<Hit> hit = matchPickedBy(linear);
    if (!hit)
      continue;
    Value picked = op->getOperand(linear.number);
    while (Value inner = getKeptInPlace(picked))
      picked = inner;
    if (Operation *op = picked.getDefiningOp(); logProbabilityDim(op) == hit->dim)
      return CrossEntropy{*hit, op->getOperand(0)};
  }
  return std::nullopt;
}

// Returns the labels before changes of type and shape, and before labels that do not count were replaced.
Value rootOf(Value labels) {
  while (Operation *op = labels.getDefiningOp()) {
    SmallVector<Value, 2> kept = choicesOf(op);
    if (Value carried = carriedOperand(op))
      kept = {carried};
    llvm::erase_if(kept, getConstantNumber);
    if (kept.size() != 1)
      break;
    labels = kept.front();
  }
  return labels;
}

// True if the factor is read from a table at the labels: it is the weight of a class.
bool isClassWeight(Value factor, Value labels) {
  while (Operation *op = factor.getDefiningOp()) {
    if (std::optional<TableRead> read = tableReadOf(op))
      return rootOf(read->indices) == rootOf(labels) && !sourcesOf(read->table).samples;
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
  PositionMask positions =
      buildPositionMask(builder, path, match.dim, [&](Value factor) { return isClassWeight(factor, match.labels); });
  if (!positions.isKnown)
    return nullptr;
  int64_t classes = tensorType(match.scores).getDimSize(match.dim);
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
  Value predicted = ArgMaxOp::create(builder, end->getLoc(), match.scores, match.dim);
  Value labels = a.cast(match.labels, tensorType(predicted).getElementType());
  Value correct = a.mask(counted, a.compare(Predicate::Eq, predicted, labels));
  return AccuracySums{a.sum(a.cast(correct, builder.getF32Type())), a.sum(a.cast(counted, builder.getF32Type()))};
}

} // namespace cleave

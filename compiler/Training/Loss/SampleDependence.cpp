#include "compiler/Training/Loss/SampleDependence.h"

#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;

namespace cleave {

namespace {

// Returns the loop that goes over the samples of a value, or null.
AffineExpr loopOf(std::optional<SamplePosition> position, AffineMap map) {
  if (!position || position->dim >= map.getNumResults() || !isa<AffineDimExpr>(map.getResult(position->dim)))
    return nullptr;
  return map.getResult(position->dim);
}

bool isOnlyNormalized(Value value) {
  return !value.use_empty() &&
         llvm::all_of(value.getUsers(), [](Operation *user) { return statesItsGroup(user, /*number=*/0); });
}

} // namespace

SampleDependence::SampleDependence(func::FuncOp function, bool normalizationMixes)
    : dims(function), normalizationMixes(normalizationMixes) {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments())
    hasDims |= function.getArgAttr(argument.getArgNumber(), kBatchDimAttr) != nullptr;
  for (BlockArgument argument : block.getArguments())
    if (!hasDims || function.getArgAttr(argument.getArgNumber(), kBatchDimAttr))
      known[argument] = Dependence::Each;
  for (Operation &op : block.without_terminator())
    for (Value result : op.getResults())
      if (Dependence dependence = visit(&op, result); dependence != Dependence::None)
        known[result] = dependence;
}

std::optional<SamplePosition> SampleDependence::position(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  if (hasDims || type.getRank() == 0)
    return dims.get(value);
  return SamplePosition{0, 1, type.getDimSize(0)};
}

Dependence SampleDependence::get(Value value) const {
  auto found = known.find(value);
  return found == known.end() ? Dependence::None : found->second;
}

Dependence SampleDependence::visit(Operation *op, Value result) const {
  if (drawsNumbers(op)) // a dropout of weights has no samples
    return dims.reaches(result) ? (dims.get(result) ? Dependence::Each : Dependence::Mixed) : Dependence::None;
  Dependence most = Dependence::None;
  for (Value operand : op->getOperands())
    most = std::max(most, get(operand));
  if (most != Dependence::Each)
    return most;
  if (!hasDims) // without batch dimensions, a single number counts as made of all samples
    return cast<RankedTensorType>(result.getType()).getNumElements() > 1 ? Dependence::Each : Dependence::Mixed;
  if (Value from = reshapedOperand(op))
    return keepsSamples(from, result) ? Dependence::Each : Dependence::Mixed;
  if (statesItsGroup(op, cast<OpResult>(result).getResultNumber()) && !normalizationMixes)
    return Dependence::Each;
  return visitLoops(op, result);
}

// The groups of a batch normalization split the sample dimension in two.
bool SampleDependence::keepsSamples(Value from, Value to) const {
  std::optional<SamplePosition> before = dims.get(from), after = dims.get(to);
  return before && after && (before->count == after->count || isOnlyNormalized(to));
}

Dependence SampleDependence::visitLoops(Operation *op, Value result) const {
  auto loops = dyn_cast<shard::ShardingInterface>(op);
  SmallVector<AffineMap> maps = loops ? loops.getIndexingMaps() : SmallVector<AffineMap>();
  if (maps.size() != op->getNumOperands() + op->getNumResults())
    return Dependence::Mixed;
  AffineMap resultMap = maps[op->getNumOperands() + cast<OpResult>(result).getResultNumber()];
  std::optional<SamplePosition> samples = dims.get(result);
  AffineExpr loop = loopOf(samples, resultMap);
  auto types = loops.getLoopIteratorTypes();
  if (!loop || types[cast<AffineDimExpr>(loop).getPosition()] != utils::IteratorType::parallel)
    return Dependence::Mixed;
  for (auto [operand, map] : llvm::zip(op->getOperands(), maps))
    if (get(operand) == Dependence::Each && loopOf(dims.get(operand), map) != loop)
      return Dependence::Mixed;
  Asked asked;
  auto isOfNone = [this](Value operand) { return get(operand) == Dependence::None; };
  bool usesPlaces = isMovedBy(op, maps, loop, samples->inner, samples->count, isOfNone, asked);
  return usesPlaces ? Dependence::Mixed : Dependence::Each;
}

// True if elements of the constant differ between the places. A very large constant is not compared, and counts as one
// that differs. Each element is compared with the one at the place before it:
//
//   [1, 1, 2, 2] with 2 places, 2 apart: it differs (1 and 2); with 2 places, 1 apart: it does not (1 and 1, 2 and 2)
static bool differs(DenseElementsAttr elements, const SamplePosition &places) {
  constexpr int64_t kMost = 1 << 22;
  int64_t count = elements.getNumElements(), stride = 1;
  if (elements.isSplat() || count > kMost)
    return !elements.isSplat();
  ArrayRef<int64_t> shape = elements.getType().getShape();
  for (int64_t size : shape.drop_front(static_cast<size_t>(places.dim) + 1))
    stride *= size;
  auto anyDiffers = [&](auto isEqual) {
    for (int64_t i = 0; i < count; ++i)
      if (i / stride % shape[places.dim] / places.inner % places.count != 0 && !isEqual(i, i - places.inner * stride))
        return true;
    return false;
  };
  if (elements.getElementType().isInteger(1)) {
    auto bits = llvm::to_vector(elements.getValues<bool>());
    return anyDiffers([&](int64_t i, int64_t j) { return bits[i] == bits[j]; });
  }
  ArrayRef<char> bytes = elements.getRawData();
  size_t width = bytes.size() / static_cast<size_t>(count);
  return anyDiffers([&](int64_t i, int64_t j) {
    return bytes.slice(static_cast<size_t>(i) * width, width) == bytes.slice(static_cast<size_t>(j) * width, width);
  });
}

// Collects the loops of an index, each with the number of places by which one iteration moves the index: d0 * 20 + d1
// has (d0, 20) and (d1, 1). Returns false for other forms of an index.
using LoopSteps = SmallVector<std::pair<AffineExpr, int64_t>>;
static bool collectLoops(AffineExpr index, int64_t step, LoopSteps &loops) {
  if (auto number = dyn_cast<AffineConstantExpr>(index))
    return number.getValue() == 0;
  if (isa<AffineDimExpr>(index)) {
    loops.push_back({index, step});
    return true;
  }
  auto pair = dyn_cast<AffineBinaryOpExpr>(index);
  if (!pair)
    return false;
  if (pair.getKind() == AffineExprKind::Add)
    return collectLoops(pair.getLHS(), step, loops) && collectLoops(pair.getRHS(), step, loops);
  auto factor = dyn_cast<AffineConstantExpr>(pair.getRHS());
  return pair.getKind() == AffineExprKind::Mul && factor &&
         collectLoops(pair.getLHS(), step * factor.getValue(), loops);
}

static bool isSameNumber(Value a, Value b) {
  std::optional<double> number = getConstantNumber(a);
  return a == b || (number && number == getConstantNumber(b));
}

// Returns the one number that all elements of a value are equal to, or null. The value is a broadcast number, or a
// concatenation of such values.
static Value oneNumber(Value value) {
  if (Value number = getSpreadNumber(value))
    return number;
  Operation *op = value.getDefiningOp();
  if (!op || !joinedDim(op))
    return nullptr;
  Value first = getSpreadNumber(op->getOperand(0));
  bool isSame = first && llvm::all_of(op->getOperands(), [&](Value operand) {
                  Value number = getSpreadNumber(operand);
                  return number && isSameNumber(number, first);
                });
  return isSame ? first : Value();
}

bool SampleDependence::variesAlong(Value value, int64_t dim) const {
  Asked asked;
  return variesAt(value, {dim, 1, cast<RankedTensorType>(value.getType()).getDimSize(dim)}, asked);
}

// A loop of the op moves the value's index along the dimension, and with it the indices of the operands:
//
//   p = reshape(r) : [4, 20]     index d0, samples 1 apart      r : [80]     index d0 * 20 + d1, samples 20 apart
//
// Input: `places` are `count` indices of a dimension, `inner` apart. They repeat along the dimension, which counts
// (outer, count, inner). Invariant: elements at two of the places differ only if some loop that moves the index from
// place to place moves an operand to other elements. A loop of step s meets places at multiples of lcm(s, inner), until
// the next larger loop moves on, or the run of places ends:
//
//   index d0 * 20 + d1, places 1 apart, 80 of them    d1: end min(80, 20), moves of 1, 20 of them
//                                                     d0: end 80, moves of 20, 4 of them
//
// If no loop is known to move the index, as in a dimension that is cut, joined or padded, all elements may differ,
// unless they are one number. Random numbers belong to their sample (shift-random-origins).
bool SampleDependence::variesAt(Value value, SamplePosition places, Asked &asked) const {
  Operation *op = value.getDefiningOp();
  if (places.count <= 1 || (op && drawsNumbers(op)) || oneNumber(value))
    return false;
  if (!op || isa<ReadOp>(op))
    return true;
  if (auto positional = dyn_cast<PositionalOpInterface>(op); positional && positional.dependsOnOrigin())
    return positional.countsAlong(places.dim);
  if (op->hasTrait<OpTrait::ConstantLike>()) {
    DenseElementsAttr elements;
    return matchPattern(op, m_Constant(&elements)) && differs(elements, places);
  }
  if (!asked.insert({value.getAsOpaquePointer(), places.dim, places.inner, places.count}).second)
    return false; // already asked, and no difference was found
  auto loops = dyn_cast<shard::ShardingInterface>(op);
  SmallVector<AffineMap> maps = loops ? loops.getIndexingMaps() : SmallVector<AffineMap>();
  if (maps.size() != op->getNumOperands() + op->getNumResults())
    return true;
  AffineMap own = maps[op->getNumOperands() + cast<OpResult>(value).getResultNumber()];
  LoopSteps ownLoops;
  if (places.dim >= own.getNumResults() || !collectLoops(own.getResult(places.dim), 1, ownLoops) || ownLoops.empty())
    return true;
  for (auto [loop, step] : ownLoops) {
    int64_t end = places.inner * places.count; // places that the loop goes through in one run of the samples
    for (auto [other, further] : ownLoops)
      end = further > step ? std::min(end, further) : end;
    int64_t move = std::lcm(step, places.inner); // the least move of the loop that is also one of places
    if (end / move > 1 && isMovedBy(op, maps, loop, move / step, end / move, /*counts=*/nullptr, asked))
      return true;
  }
  return false;
}

// Input: a loop of the op, `turns` (the number of iterations that it moves on at a time) and `count` (the iterations
// that are compared: 0, turns, ..., (count - 1) * turns). True if an operand's elements differ between these
// iterations. One iteration moves the index of a dimension by the loop's step there. So the question about the
// dimension is asked for places that are step * turns apart:
//
//   r : [80] read at d0 * 20 + d1, loop d0, turns 1, count 4      elements of r that are 20 apart, 4 of them
//
// If the loop moves an index in another way than by a fixed step, the index may also be outside of the operand (windows
// with padding). Then it does not help that the operand is one number everywhere. `counts` says which operands are
// asked about; null means all.
bool SampleDependence::isMovedBy(Operation *op, ArrayRef<AffineMap> maps, AffineExpr loop, int64_t turns, int64_t count,
                                 llvm::function_ref<bool(Value)> counts, Asked &asked) const {
  unsigned position = cast<AffineDimExpr>(loop).getPosition();
  for (auto [operand, map] : llvm::zip(op->getOperands(), maps))
    for (auto [dim, index] : llvm::enumerate(map.getResults())) {
      if (!index.isFunctionOfDim(position) || (counts && !counts(operand)))
        continue;
      LoopSteps steps;
      if (!collectLoops(index, 1, steps))
        return true;
      for (auto [other, step] : steps)
        if (other == loop && variesAt(operand, {static_cast<int64_t>(dim), step * turns, count}, asked))
          return true;
    }
  return false;
}

} // namespace cleave

#include "compiler/Training/Loss/SampleDependence.h"

#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;

namespace cleave {

namespace {

// The loop that the samples of a value are, or null.
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
  if (!hasDims) // all that can be said: a number is of all samples
    return cast<RankedTensorType>(result.getType()).getNumElements() > 1 ? Dependence::Each : Dependence::Mixed;
  if (Value from = reshapedOperand(op))
    return keepsSamples(from, result) ? Dependence::Each : Dependence::Mixed;
  if (statesItsGroup(op, cast<OpResult>(result).getResultNumber()) && !normalizationMixes)
    return Dependence::Each;
  return visitLoops(op, result);
}

// The groups of a batch normalization cut the sample dimension in two.
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
  return usesPlaces(op, maps, loop, *samples) ? Dependence::Mixed : Dependence::Each;
}

// Whether an operand that is made of no samples has other elements at other places of the sample loop. `samples` says
// how the samples lie in the result.
bool SampleDependence::usesPlaces(Operation *op, ArrayRef<AffineMap> maps, AffineExpr loop,
                                  SamplePosition samples) const {
  for (auto [operand, map] : llvm::zip(op->getOperands(), maps))
    for (auto [dim, index] : llvm::enumerate(map.getResults()))
      if (get(operand) == Dependence::None && index == loop) {
        samples.dim = static_cast<int64_t>(dim);
        Asked asked;
        if (variesAt(operand, samples, asked))
          return true;
      }
  return false;
}

// Whether a constant has other elements at other places; a very large one counts as if it had.
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

// The loops of an index like d0 * 20 + d1, and by how many places each moves it. False for other indices.
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

// Whether an op can only make equal elements: all that it takes are single numbers.
static bool takesOnlyNumbers(Operation *op) {
  return op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperands(), [](Value operand) { return getSpreadNumber(operand) != nullptr; });
}

bool SampleDependence::variesAlong(Value value, int64_t dim) const {
  Asked asked;
  return variesAt(value, {dim, 1, cast<RankedTensorType>(value.getType()).getDimSize(dim)}, asked);
}

// A loop of the op moves the value's index along the dimension, and the indices of operands with it:
//
//   p = reshape(r) : [4, 20]     index d0, samples 1 apart      r : [80]     index d0 * 20 + d1, samples 20 apart
//
// Where no loop is known to move the index, all elements may differ, unless the op takes only numbers. Numbers that are
// drawn belong to their sample (shift-random-origins).
bool SampleDependence::variesAt(Value value, SamplePosition places, Asked &asked) const {
  Operation *op = value.getDefiningOp();
  if (places.count <= 1 || (op && drawsNumbers(op)))
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
    return false; // looked at before, and nothing was found
  auto loops = dyn_cast<shard::ShardingInterface>(op);
  SmallVector<AffineMap> maps = loops ? loops.getIndexingMaps() : SmallVector<AffineMap>();
  if (maps.size() != op->getNumOperands() + op->getNumResults())
    return !takesOnlyNumbers(op);
  AffineMap own = maps[op->getNumOperands() + cast<OpResult>(value).getResultNumber()];
  LoopSteps ownLoops;
  if (places.dim >= own.getNumResults() || !collectLoops(own.getResult(places.dim), 1, ownLoops) || ownLoops.empty())
    return !takesOnlyNumbers(op); // such as a dimension that is cut, joined or padded
  for (auto [loop, step] : ownLoops) {
    int64_t end = places.inner * places.count; // places that the loop goes through, within one run of the samples
    for (auto [other, further] : ownLoops)
      end = further > step ? std::min(end, further) : end;
    int64_t move = std::lcm(step, places.inner); // the least that is both the loop's and the samples'
    if (end / move > 1 && isMovedBy(op, maps, loop, move / step, end / move, asked))
      return true;
  }
  return false;
}

// Whether an operand has other elements where a loop is `turns` further on, `count` times.
bool SampleDependence::isMovedBy(Operation *op, ArrayRef<AffineMap> maps, AffineExpr loop, int64_t turns, int64_t count,
                                 Asked &asked) const {
  for (auto [operand, map] : llvm::zip(op->getOperands(), maps))
    for (auto [dim, index] : llvm::enumerate(map.getResults())) {
      LoopSteps theirs;
      if (!collectLoops(index, 1, theirs) && !getSpreadNumber(operand))
        return true;
      for (auto [other, step] : theirs)
        if (other == loop && variesAt(operand, {static_cast<int64_t>(dim), step * turns, count}, asked))
          return true;
    }
  return false;
}

} // namespace cleave

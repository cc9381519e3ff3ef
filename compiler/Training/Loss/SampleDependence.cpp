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
      if (Dependence dependence = visit(&op, result); dependence != Dependence::None) {
        known[result] = dependence;
        if (llvm::any_of(op.getOperands(), [&](Value operand) { return mixed.contains(operand); }) ||
            (dependence == Dependence::Mixed && combines(&op, result)))
          mixed.insert(result);
        if (llvm::any_of(op.getOperands(), [&](Value operand) { return lost.contains(operand); }) ||
            (hasDims && reshapedOperand(&op) && !keepsSamples(reshapedOperand(&op), result)))
          lost.insert(result);
      }
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

// A loop over samples is reduced, or is not the one that the result's samples are; or some samples are picked, or their
// place in the batch counts.
bool SampleDependence::combines(Operation *op, Value result) const {
  auto loops = dyn_cast<shard::ShardingInterface>(op);
  SmallVector<AffineMap> maps = loops ? loops.getIndexingMaps() : SmallVector<AffineMap>();
  if (maps.size() != op->getNumOperands() + op->getNumResults())
    return false;
  auto types = loops.getLoopIteratorTypes();
  auto isParallel = [&](AffineExpr loop) {
    return types[cast<AffineDimExpr>(loop).getPosition()] == utils::IteratorType::parallel;
  };
  std::optional<SamplePosition> samples = dims.get(result);
  AffineExpr own = loopOf(samples, maps[op->getNumOperands() + cast<OpResult>(result).getResultNumber()]);
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    AffineExpr loop = get(operand) != Dependence::None ? loopOf(dims.get(operand), maps[index]) : AffineExpr();
    if ((loop && ((own && loop != own) || !isParallel(loop))) || takesWhole(op, index, maps[index]))
      return true;
  }
  return own && usesPlaces(op, maps, own, *samples) && !isRowOffset(op);
}

// Whether an operand's dimension of samples, and of nothing else, is no loop: each element of the result may be made of
// any of them, as where some are cut off. Not so: whole batches laid end to end are cut apart again (guidance without a
// classifier), and what writes at indices takes its updates in their order, wherever they go.
bool SampleDependence::takesWhole(Operation *op, unsigned index, AffineMap map) const {
  auto countOf = [&](Value value) -> int64_t {
    std::optional<SamplePosition> at = get(value) != Dependence::None ? dims.get(value) : std::nullopt;
    bool isAlone = at && at->count > 1 && cast<RankedTensorType>(value.getType()).getDimSize(at->dim) == at->count;
    return isAlone ? at->count : 0;
  };
  Value operand = op->getOperand(index);
  int64_t count = countOf(operand);
  std::optional<IndexedDim> indexed = indexedDim(op);
  if (count == 0 || reshapedOperand(op) || (indexed && indexed->writes && index != indexed->table))
    return false;
  if (isa<AffineDimExpr>(map.getResult(dims.get(operand)->dim)))
    return false;
  return !joinedDim(op) || llvm::any_of(op->getOperands(), [&](Value other) { return countOf(other) != count; });
}

// x[arange(batch), i]: the places of samples in a table whose rows are (sample, index), i apart. What is taken is then
// each sample's own.
//
//   rows = add(i, [0, n, 2n, ...]);  take(reshape(x, [batch * n, ...]), rows, dim 0)
bool SampleDependence::isRowOffset(Operation *op) const {
  DenseIntElementsAttr offsets;
  for (const NumberBound &sum : numberBounds(op))
    if (!offsets && sum.kind == NumberBound::Plus)
      matchPattern(sum.number, m_Constant(&offsets));
  std::optional<SamplePosition> own = op->getNumResults() == 1 ? dims.get(op->getResult(0)) : std::nullopt;
  if (!offsets || !own || own->inner != 1 || offsets.getNumElements() > (1 << 16))
    return false;
  ArrayRef<int64_t> shape = offsets.getType().getShape();
  int64_t inner = 1;
  for (int64_t size : shape.drop_front(own->dim + 1))
    inner *= size;
  auto isTakenFromRows = [&](Operation *user) {
    std::optional<IndexedDim> indexed = indexedDim(user);
    if (!indexed || indexed->writes || indexed->shared > 0)
      return false;
    Value table = user->getOperand(indexed->table);
    std::optional<SamplePosition> rows = dims.get(table);
    if (!rows || rows->dim != indexed->dim || rows->count != own->count ||
        cast<RankedTensorType>(table.getType()).getDimSize(rows->dim) != rows->count * rows->inner)
      return false;
    for (auto [i, offset] : llvm::enumerate(offsets.getValues<APInt>()))
      if (offset.getSExtValue() != static_cast<int64_t>(i) / inner % shape[own->dim] * rows->inner)
        return false;
    return true;
  };
  return !op->use_empty() && llvm::all_of(op->getUsers(), isTakenFromRows);
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

#include "compiler/Training/Loss/SampleDependence.h"

#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Scatter.h"

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
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return keepsSamples(reshape) ? Dependence::Each : Dependence::Mixed;
  if (statesItsGroup(op, cast<OpResult>(result).getResultNumber()) && !normalizationMixes)
    return Dependence::Each;
  return visitLoops(op, result);
}

// A loop over samples is reduced, or is not the one that the result's samples are; or some samples are picked, or their
// place in the batch counts.
bool SampleDependence::combines(Operation *op, Value result) const {
  if (auto slice = dyn_cast<SliceOp>(op)) {
    std::optional<SamplePosition> at = dims.get(slice.getOperand());
    int64_t size = at ? cast<RankedTensorType>(slice.getOperand().getType()).getDimSize(at->dim) : 0;
    return at && at->count == size && slice.getSizes()[static_cast<size_t>(at->dim)] != size;
  }
  auto loops = dyn_cast<shard::ShardingInterface>(op);
  SmallVector<AffineMap> maps = loops ? loops.getIndexingMaps() : SmallVector<AffineMap>();
  if (maps.size() != op->getNumOperands() + op->getNumResults())
    return false;
  auto types = loops.getLoopIteratorTypes();
  auto isParallel = [&](AffineExpr loop) {
    return types[cast<AffineDimExpr>(loop).getPosition()] == utils::IteratorType::parallel;
  };
  AffineExpr own = loopOf(dims.get(result), maps[op->getNumOperands() + cast<OpResult>(result).getResultNumber()]);
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    AffineExpr loop = get(operand) != Dependence::None ? loopOf(dims.get(operand), maps[index]) : AffineExpr();
    if ((loop && ((own && loop != own) || !isParallel(loop))) || takesWhole(op, index, maps[index]))
      return true;
  }
  return own && usesPlaces(op, maps, own) && !isRowOffset(op);
}

// Whether an operand's dimension of samples, and of nothing else, is no loop: each element of the result may be made of
// any of them. Not so: whole batches laid end to end are cut apart again (guidance without a classifier), and a put
// takes its updates in their order, wherever they go.
bool SampleDependence::takesWhole(Operation *op, unsigned index, AffineMap map) const {
  auto countOf = [&](Value value) -> int64_t {
    std::optional<SamplePosition> at = get(value) != Dependence::None ? dims.get(value) : std::nullopt;
    bool isAlone = at && at->count > 1 && cast<RankedTensorType>(value.getType()).getDimSize(at->dim) == at->count;
    return isAlone ? at->count : 0;
  };
  Value operand = op->getOperand(index);
  int64_t count = countOf(operand);
  if (count == 0 || isa<ReshapeOp>(op) || (isa<PutOp>(op) && index != 0))
    return false;
  if (isa<AffineDimExpr>(map.getResult(dims.get(operand)->dim)))
    return false;
  return !isa<ConcatOp>(op) || llvm::any_of(op->getOperands(), [&](Value other) { return countOf(other) != count; });
}

// x[arange(batch), i]: the places of samples in a table whose rows are (sample, index), i apart. What is taken is then
// each sample's own.
//
//   rows = add(i, [0, n, 2n, ...]);  take(reshape(x, [batch * n, ...]), rows, dim 0)
bool SampleDependence::isRowOffset(Operation *op) const {
  auto offsets = [&]() -> DenseIntElementsAttr {
    for (Value operand : isa<AddOp>(op) ? op->getOperands() : OperandRange(nullptr, 0))
      if (auto constant = operand.getDefiningOp<ConstantOp>())
        return dyn_cast<DenseIntElementsAttr>(Attribute(constant.getValue()));
    return {};
  }();
  std::optional<SamplePosition> own = op->getNumResults() == 1 ? dims.get(op->getResult(0)) : std::nullopt;
  if (!offsets || !own || own->inner != 1 || offsets.getNumElements() > (1 << 16))
    return false;
  ArrayRef<int64_t> shape = offsets.getType().getShape();
  int64_t inner = 1;
  for (int64_t size : shape.drop_front(own->dim + 1))
    inner *= size;
  auto isTakenFromRows = [&](Operation *user) {
    auto take = dyn_cast<TakeOp>(user);
    std::optional<SamplePosition> rows = take ? dims.get(take.getOperand()) : std::nullopt;
    if (!rows || rows->dim != static_cast<int64_t>(take.getDim()) || rows->count != own->count ||
        take.getOperand().getType().getDimSize(rows->dim) != rows->count * rows->inner)
      return false;
    for (auto [i, offset] : llvm::enumerate(offsets.getValues<APInt>()))
      if (offset.getSExtValue() != static_cast<int64_t>(i) / inner % shape[own->dim] * rows->inner)
        return false;
    return true;
  };
  return !op->use_empty() && llvm::all_of(op->getUsers(), isTakenFromRows);
}

// The groups of a batch normalization cut the sample dimension in two.
bool SampleDependence::keepsSamples(ReshapeOp reshape) const {
  std::optional<SamplePosition> from = dims.get(reshape.getOperand()), to = dims.get(reshape.getResult());
  return from && to && (from->count == to->count || isOnlyNormalized(reshape.getResult()));
}

Dependence SampleDependence::visitLoops(Operation *op, Value result) const {
  auto loops = dyn_cast<shard::ShardingInterface>(op);
  SmallVector<AffineMap> maps = loops ? loops.getIndexingMaps() : SmallVector<AffineMap>();
  if (maps.size() != op->getNumOperands() + op->getNumResults())
    return Dependence::Mixed;
  AffineMap resultMap = maps[op->getNumOperands() + cast<OpResult>(result).getResultNumber()];
  AffineExpr loop = loopOf(dims.get(result), resultMap);
  auto types = loops.getLoopIteratorTypes();
  if (!loop || types[cast<AffineDimExpr>(loop).getPosition()] != utils::IteratorType::parallel)
    return Dependence::Mixed;
  for (auto [operand, map] : llvm::zip(op->getOperands(), maps))
    if (get(operand) == Dependence::Each && loopOf(dims.get(operand), map) != loop)
      return Dependence::Mixed;
  return usesPlaces(op, maps, loop) ? Dependence::Mixed : Dependence::Each;
}

// Whether an operand that is made of no samples has other elements at other places of the sample loop.
bool SampleDependence::usesPlaces(Operation *op, ArrayRef<AffineMap> maps, AffineExpr loop) const {
  for (auto [operand, map] : llvm::zip(op->getOperands(), maps))
    for (auto [dim, index] : llvm::enumerate(map.getResults()))
      if (get(operand) == Dependence::None && index == loop && variesAlong(operand, static_cast<int64_t>(dim)))
        return true;
  return false;
}

// Whether slices of a constant along the dimension differ.
static bool slicesDiffer(DenseElementsAttr elements, int64_t dim) {
  constexpr int64_t kMost = 1 << 16;
  ArrayRef<int64_t> shape = elements.getType().getShape();
  if (elements.isSplat() || elements.getNumElements() > kMost)
    return false;
  auto values = llvm::to_vector(elements.getValues<Attribute>());
  int64_t inner = 1, size = shape[dim];
  for (int64_t other : shape.drop_front(dim + 1))
    inner *= other;
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i)
    if (i / inner % size != 0 && values[i] != values[i - inner])
      return true;
  return false;
}

// Numbers that are drawn belong to their sample (shift-random-origins).
bool SampleDependence::variesAlong(Value value, int64_t dim, unsigned depth) const {
  constexpr unsigned kMostDepth = 64;
  auto type = cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (type.getDimSize(dim) == 1 || depth > kMostDepth || (op && drawsNumbers(op)))
    return false;
  if (!op || isa<ReadOp>(op))
    return true;
  if (auto iota = dyn_cast<IotaOp>(op))
    return static_cast<int64_t>(iota.getDim()) == dim;
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(Attribute(constant.getValue()));
    return elements && slicesDiffer(elements, dim);
  }
  auto loops = dyn_cast<shard::ShardingInterface>(op);
  SmallVector<AffineMap> maps = loops ? loops.getIndexingMaps() : SmallVector<AffineMap>();
  if (maps.size() != op->getNumOperands() + op->getNumResults())
    return false;
  AffineMap own = maps[op->getNumOperands() + cast<OpResult>(value).getResultNumber()];
  if (dim >= own.getNumResults() || !isa<AffineDimExpr>(own.getResult(dim)))
    return false;
  for (auto [operand, map] : llvm::zip(op->getOperands(), maps))
    for (auto [operandDim, index] : llvm::enumerate(map.getResults()))
      if (index == own.getResult(dim) && variesAlong(operand, static_cast<int64_t>(operandDim), depth + 1))
        return true;
  return false;
}

} // namespace cleave

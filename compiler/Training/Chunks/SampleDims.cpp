#include "compiler/Training/Chunks/SampleDims.h"

#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace cleave {

namespace {

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

bool fits(Value value, const SamplePosition &position) {
  return position.count > 0 && shapeOf(value)[position.dim] % (position.inner * position.count) == 0;
}

// Places a single sample, which has no extent. It becomes a dimension of size 1 at its stride. Without one, it is part
// of the first dimension that contains this stride.
std::optional<SamplePosition> placeOne(ArrayRef<int64_t> to, int64_t stride) {
  for (bool wantsOne : {true, false})
    for (int64_t dim = 0, rank = to.size(); dim < rank; ++dim) {
      int64_t own = strideOf(to, dim);
      if (wantsOne ? to[dim] == 1 && own == stride : own <= stride && stride <= own * to[dim] && stride % own == 0)
        return SamplePosition{dim, stride / own, 1};
    }
  return std::nullopt;
}

// A reshape keeps the samples' position in the row-major order. If they become several dimensions, the position is in
// the outermost.
std::optional<SamplePosition> reshaped(SamplePosition from, ArrayRef<int64_t> shape, ArrayRef<int64_t> to) {
  int64_t low = strideOf(shape, from.dim) * from.inner, high = low * from.count;
  if (from.count == 1)
    return placeOne(to, low);
  for (int64_t dim = 0, rank = to.size(); dim < rank; ++dim) {
    int64_t own = strideOf(to, dim), begin = std::max(low, own);
    if (to[dim] > 1 && own < high && high <= own * to[dim])
      return begin % own == 0 && high % begin == 0 ? std::optional(SamplePosition{dim, begin / own, high / begin})
                                                   : std::nullopt;
  }
  return std::nullopt;
}

Value valueOf(Operation *op, unsigned index) {
  unsigned operands = op->getNumOperands();
  return index < operands ? op->getOperand(index) : op->getResult(index - operands);
}

} // namespace

int64_t strideOf(ArrayRef<int64_t> shape, int64_t dim) {
  int64_t stride = 1;
  for (int64_t size : shape.drop_front(dim + 1))
    stride *= size;
  return stride;
}

SampleDims::SampleDims(func::FuncOp function) {
  Block &block = function.getBody().front();
  findOrigins(block);
  for (BlockArgument argument : block.getArguments())
    if (auto dim = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), kBatchDimAttr))
      note(argument, SamplePosition{dim.getInt(), 1, shapeOf(argument)[dim.getInt()]});
  follow(block);
}

SampleDims::SampleDims(func::FuncOp function, Value value, SamplePosition position) {
  Block &block = function.getBody().front();
  findOrigins(block);
  note(value, position);
  follow(block);
}

void SampleDims::findOrigins(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (isa<ReadOp>(op) || llvm::any_of(op.getOperands(), [&](Value operand) { return weighted.contains(operand); }))
      weighted.insert(op.result_begin(), op.result_end());
    if (!isPure(&op) || drawsNumbers(&op))
      continue;
    if (llvm::all_of(op.getOperands(), [&](Value operand) { return fixed.contains(operand); }))
      fixed.insert(op.result_begin(), op.result_end());
    else
      noteRepeated(&op);
  }
}

// A loop repeats if each operand that has it as a dimension is fixed or has copies along it. An op that copies elements
// (broadcast) has loops that its operand does not have. In other ops such a loop says nothing (a dimension that a
// reshape has made).
void SampleDims::noteRepeated(Operation *op) {
  auto loops = dyn_cast<shard::ShardingInterface>(op);
  SmallVector<AffineMap> maps = loops ? loops.getIndexingMaps() : SmallVector<AffineMap>();
  if (maps.empty() || maps.size() != op->getNumOperands() + op->getNumResults())
    return;
  bool copies = carriedOperand(op) && !reshapedOperand(op);
  auto repeats = [&](AffineExpr loop) {
    bool isKnown = copies;
    for (auto [operand, map] : llvm::zip(op->getOperands(), maps))
      if (std::optional<unsigned> dim = map.getResultPosition(loop)) {
        isKnown = true;
        if (!fixed.contains(operand) && !repeated.contains({operand, *dim}))
          return false;
      }
    return isKnown;
  };
  for (auto [result, map] : llvm::zip(op->getResults(), ArrayRef(maps).drop_front(op->getNumOperands())))
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      if (isa<AffineDimExpr>(expr) && repeats(expr))
        repeated.insert({result, static_cast<int64_t>(dim)});
}

void SampleDims::follow(Block &block) {
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : block.without_terminator()) {
      changed |= visit(&op);
      changed |= noteLost(&op);
    }
    for (Operation &op : llvm::reverse(block.without_terminator()))
      changed |= visit(&op);
  }
}

bool SampleDims::note(Value value, std::optional<SamplePosition> position) {
  if (fixed.contains(value) || (position && repeated.contains({value, position->dim})))
    return false;
  if (position && !fits(value, *position))
    position = std::nullopt;
  return positions.try_emplace(value, position).second;
}

// Returns the starts and the steps of an op that cuts its operand (slice); empty for other ops.
static SmallVector<ArrayRef<int64_t>, 2> cutOf(Operation *op) {
  SmallVector<ArrayRef<int64_t>, 2> lists = startsOf(op);
  bool isCut = lists.size() == 2 && op->getNumOperands() == 1 && op->getNumResults() == 1;
  size_t rank = isCut ? shapeOf(op->getOperand(0)).size() : 0;
  isCut = isCut && shapeOf(op->getResult(0)).size() == rank && lists[0].size() == rank && lists[1].size() == rank;
  return isCut ? lists : SmallVector<ArrayRef<int64_t>, 2>();
}

bool SampleDims::visit(Operation *op) {
  if (Value from = reshapedOperand(op))
    return visitReshape(from, op->getResult(0));
  auto loops = dyn_cast<shard::ShardingInterface>(op);
  SmallVector<AffineMap> maps = loops ? loops.getIndexingMaps() : SmallVector<AffineMap>();
  bool changed = maps.size() == op->getNumOperands() + op->getNumResults() && visitLoops(op, maps);
  if (std::optional<int64_t> joined = joinedDim(op))
    changed |= visitRuns(op, *joined);
  else if (!cutOf(op).empty())
    for (auto [dim, from, to] : llvm::enumerate(shapeOf(op->getOperand(0)), shapeOf(op->getResult(0))))
      if (from != to)
        changed |= visitRuns(op, dim);
  return changed;
}

// Input: the op joins its operands along the dimension, or cuts it. A run is `inner * count` indices, all samples once.
// Each value that consists of whole runs has the samples where the others have them. A value that is made of weights, and
// of no samples, has none.
bool SampleDims::visitRuns(Operation *op, int64_t dim) {
  SmallVector<Value> values(op->getOperands());
  values.push_back(op->getResult(0));
  std::optional<SamplePosition> known;
  for (Value value : values)
    if (std::optional<SamplePosition> position = get(value); !known && position && position->dim == dim)
      known = position;
  if (!known)
    return false;
  int64_t run = known->inner * known->count;
  auto agrees = [&](Value value) {
    std::optional<SamplePosition> position = get(value);
    bool isSame =
        position && position->dim == dim && position->inner == known->inner && position->count == known->count;
    return shapeOf(value)[dim] % run == 0 && (isSame || (!reaches(value) && !weighted.contains(value)));
  };
  if (auto cut = cutOf(op); !cut.empty() && (cut[0][dim] % run != 0 || cut[1][dim] != 1))
    return false;
  if (!llvm::all_of(values, agrees))
    return false;
  bool changed = false;
  for (Value value : values)
    changed |= note(value, known);
  return changed;
}

// Uses strides and not the op's loops, because dimensions of size 1 have no loop.
bool SampleDims::visitReshape(Value from, Value to) {
  if (!get(from))
    std::swap(from, to);
  std::optional<SamplePosition> known = get(from);
  return known && note(to, reshaped(*known, shapeOf(from), shapeOf(to)));
}

// The samples are a loop. Operands and results that have this loop as a dimension have the samples there.
bool SampleDims::visitLoops(Operation *op, ArrayRef<AffineMap> maps) {
  for (auto [index, map] : llvm::enumerate(maps)) {
    std::optional<SamplePosition> known = get(valueOf(op, index));
    if (!known || known->dim >= map.getNumResults() || !isa<AffineDimExpr>(map.getResult(known->dim)))
      continue;
    bool changed = false;
    for (auto [other, otherMap] : llvm::enumerate(maps))
      for (auto [dim, expr] : llvm::enumerate(otherMap.getResults()))
        if (expr == map.getResult(known->dim))
          changed |= note(valueOf(op, other), SamplePosition{static_cast<int64_t>(dim), known->inner, known->count});
    return changed;
  }
  return false;
}

// A result that is made of samples has them in some dimension. So does an operand that has the shape of such a value,
// and is used with it.
bool SampleDims::noteLost(Operation *op) {
  if (llvm::none_of(op->getOperands(), [&](Value operand) { return reaches(operand); }))
    return false;
  bool changed = false;
  for (Value result : op->getResults())
    changed |= note(result, std::nullopt);
  llvm::SmallDenseSet<ArrayRef<int64_t>, 4> lost; // shapes, except those of a single number
  for (Value operand : op->getOperands())
    if (reaches(operand) && !get(operand) && !shapeOf(operand).empty())
      lost.insert(shapeOf(operand));
  for (Value operand : op->getOperands())
    if (lost.contains(shapeOf(operand)))
      changed |= note(operand, std::nullopt);
  return changed;
}

} // namespace cleave

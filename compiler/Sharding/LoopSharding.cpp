#include "compiler/Sharding/LoopSharding.h"
#include "compiler/Sharding/Linearity.h"
#include "compiler/Sharding/LoopTerms.h"

#include "llvm/ADT/SmallSet.h"

using namespace cleave;
using llvm::SmallVector;
using llvm::StringRef;
using mlir::AffineExpr;

mlir::RankedTensorType cleave::valueType(mlir::Operation *op, unsigned index) {
  mlir::Type type = index < op->getNumOperands() ? op->getOperand(index).getType()
                                                 : op->getResult(index - op->getNumOperands()).getType();
  return llvm::cast<mlir::RankedTensorType>(type);
}

std::optional<ReduceKind> cleave::reductionOf(llvm::ArrayRef<mlir::utils::IteratorType> iterators,
                                              llvm::ArrayRef<mlir::shard::ReductionKind> kinds, int64_t loop) {
  // Only reduction loops have kinds, which are in the order of these loops.
  size_t position = llvm::count(iterators.take_front(loop), mlir::utils::IteratorType::reduction);
  switch (position < kinds.size() ? kinds[position] : mlir::shard::ReductionKind::Sum) {
  case mlir::shard::ReductionKind::Sum:
    return ReduceKind::Sum;
  case mlir::shard::ReductionKind::Max:
    return ReduceKind::Max;
  case mlir::shard::ReductionKind::Min:
    return ReduceKind::Min;
  default: // no collective multiplies
    return std::nullopt;
  }
}

LoopSharding::LoopSharding(mlir::Operation *op, MeshAttr mesh) : op(op), mesh(mesh), numOperands(op->getNumOperands()) {
  if (auto loops = llvm::dyn_cast<mlir::shard::ShardingInterface>(op)) {
    iterators = loops.getLoopIteratorTypes();
    kinds = loops.getReductionLoopIteratorKinds();
    maps = loops.getIndexingMaps();
  }
  splits.resize(iterators.size());
  isPartial.resize(numOperands);
  // An op that describes no loops, or describes them inconsistently, keeps its values whole.
  bool isDescribed = maps.size() == numOperands + op->getNumResults();
  for (unsigned i = 0; isDescribed && i < maps.size(); ++i)
    isDescribed = static_cast<int64_t>(maps[i].getNumResults()) == valueType(op, i).getRank();
  if (!isDescribed)
    maps.clear();
  setFactors();
}

// A loop can be split if every dimension that it walks has it as a factor, and always of the same size.
void LoopSharding::setFactors() {
  sizes.resize(iterators.size());
  factors.resize(maps.size());
  SmallVector<bool> isSeen(iterators.size());
  for (auto [index, map] : llvm::enumerate(maps))
    for (auto [expr, size] : llvm::zip_equal(map.getResults(), valueType(op, index).getShape())) {
      Factors &made = factors[index].emplace_back(factorsOf<Factors>(expr, size));
      for (int64_t loop = 0, count = iterators.size(); loop < count; ++loop) {
        if (!expr.isFunctionOfDim(loop))
          continue;
        auto factor = llvm::find_if(made, [&](Factor factor) { return factor.loop == loop; });
        std::optional<int64_t> here = factor == made.end() ? std::nullopt : std::make_optional(factor->size);
        sizes[loop] = !isSeen[loop] || sizes[loop] == here ? here : std::nullopt;
        isSeen[loop] = true;
      }
    }
}

// True if the loop can be split without adding an operand several times. Every rank would add an operand that the loop
// does not walk (put_add's first). That is wrong unless it is zero or a term of the rank's own.
bool LoopSharding::isSummedAlone(int64_t loop) const {
  for (unsigned i = 0; i < numOperands; ++i) {
    bool isWalked = llvm::any_of(maps[i].getResults(), [&](AffineExpr expr) { return expr.isFunctionOfDim(loop); });
    if (!isWalked && !isPartial[i] && !isZero(op->getOperand(i)))
      return false;
  }
  return true;
}

// True if every result walks the loop. If a parallel loop is split, a result that does not walk it would be called
// whole, although a rank computes it from a part.
bool LoopSharding::isInEveryResult(int64_t loop) const {
  return llvm::all_of(llvm::ArrayRef(maps).drop_front(numOperands), [&](mlir::AffineMap map) {
    return llvm::any_of(map.getResults(), [&](AffineExpr expr) { return expr.isFunctionOfDim(loop); });
  });
}

// Returns the loop that a split of a dimension splits, or -1. The split's blocks become those inside that loop.
int64_t LoopSharding::enter(llvm::ArrayRef<Factor> factors, Split &split) {
  for (auto [size, loop] : factors) {
    if (split.blocks == 1 || size == 0 || split.blocks % size != 0)
      return loop;
    split.blocks /= size;
  }
  return -1;
}

bool LoopSharding::isSplittable(int64_t loop, const Split &split, bool allowReduction) const {
  if (loop < 0 || !sizes[loop])
    return false;
  if (isReduction(loop) ? !(allowReduction && isSummedAlone(loop)) : !isInEveryResult(loop))
    return false;
  const Split &old = splits[loop];
  if (!old.axes.empty() && (old.blocks != split.blocks || old.axes != split.axes))
    return false;
  int64_t parts = split.blocks;
  for (StringRef axis : split.axes)
    parts *= mesh.getSize(axis);
  return *sizes[loop] % parts == 0;
}

// True if an axis splits one loop, a dimension is split along one loop, the results are partial by one kind, and a
// result that depends on where its part begins is one contiguous piece.
bool LoopSharding::canSplit(llvm::ArrayRef<Split> proposed) const {
  llvm::SmallSet<StringRef, 4> seen;
  std::optional<ReduceKind> kind;
  for (auto [loop, split] : llvm::enumerate(proposed)) {
    for (StringRef axis : split.axes)
      if (!seen.insert(axis).second)
        return false;
    if (split.axes.empty() || !isReduction(loop))
      continue;
    if (!reductionOf(loop) || (kind && kind != reductionOf(loop)))
      return false;
    kind = reductionOf(loop);
  }
  auto positional = llvm::dyn_cast<PositionalOpInterface>(op);
  bool isOnePiece = positional && positional.dependsOnOrigin();
  for (auto [index, dims] : llvm::enumerate(factors))
    for (const Factors &dim : dims) {
      if (llvm::count_if(dim, [&](Factor factor) { return !proposed[factor.loop].axes.empty(); }) > 1)
        return false;
      if (isOnePiece && index >= numOperands && dimSplit(dim, proposed).blocks > 1)
        return false;
    }
  return true;
}

bool LoopSharding::propose(unsigned index, ShardingAttr sharding, bool allowReduction) {
  auto proposed = splits;
  bool isNew = false; // most of a concat's thousands of operands propose the present split
  for (int64_t dim = 0, rank = sharding.getDims().size(); dim < rank; ++dim) {
    Split split = {sharding.getSplitFactor(dim), sharding.getDimAxes(dim)};
    if (split.axes.empty())
      continue;
    int64_t loop = maps.empty() ? -1 : enter(factors[index][dim], split);
    if (!isSplittable(loop, split, allowReduction))
      return false;
    isNew |= splits[loop].blocks != split.blocks || splits[loop].axes != split.axes;
    proposed[loop] = split;
  }
  if (!isNew)
    return true;
  if (!canSplit(proposed))
    return false;
  splits = std::move(proposed);
  return true;
}

SmallVector<StringRef> LoopSharding::getSummedAxes(unsigned index) const {
  SmallVector<StringRef> summed;
  for (int64_t loop = 0, count = maps.empty() ? 0 : splits.size(); loop < count; ++loop)
    if (isReduction(loop) &&
        llvm::any_of(maps[index].getResults(), [&](AffineExpr e) { return e.isFunctionOfDim(loop); }))
      llvm::append_range(summed, splits[loop].axes);
  return summed;
}

LoopSharding::Split LoopSharding::dimSplit(llvm::ArrayRef<Factor> factors, llvm::ArrayRef<Split> splits) {
  int64_t blocks = 1;
  for (auto [size, loop] : factors) {
    if (const Split &split = splits[loop]; !split.axes.empty())
      return {blocks * split.blocks, split.axes};
    blocks *= size;
  }
  return {};
}

ShardingAttr LoopSharding::valueSharding(unsigned index, bool isResult) const {
  mlir::MLIRContext *context = op->getContext();
  int64_t rank = valueType(op, index).getRank();
  if (maps.empty())
    return ShardingAttr::replicated(context, rank);
  mlir::Builder builder(context);
  SmallVector<mlir::Attribute> dims;
  for (const Factors &dim : factors[index]) {
    Split split = dimSplit(dim, splits);
    dims.push_back(ShardingAttr::getDim(context, split.blocks, split.axes));
  }
  SmallVector<mlir::Attribute> partial;
  ReduceKind kind = ReduceKind::Sum;
  auto isWalked = [&](int64_t loop) {
    return llvm::any_of(maps[index].getResults(), [&](AffineExpr expr) { return expr.isFunctionOfDim(loop); });
  };
  for (int64_t loop = 0, count = splits.size(); isResult && loop < count; ++loop)
    if (isReduction(loop) && !splits[loop].axes.empty() && !isWalked(loop)) {
      llvm::append_range(partial, builder.getStrArrayAttr(splits[loop].axes));
      kind = *reductionOf(loop);
    }
  return ShardingAttr::get(builder.getArrayAttr(dims), partial, kind);
}

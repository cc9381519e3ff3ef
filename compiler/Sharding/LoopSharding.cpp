#include "compiler/Sharding/LoopSharding.h"
#include "compiler/Sharding/Linearity.h"

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

LoopSharding::LoopSharding(mlir::Operation *op, MeshAttr mesh) : op(op), mesh(mesh), numOperands(op->getNumOperands()) {
  if (auto loops = llvm::dyn_cast<mlir::shard::ShardingInterface>(op)) {
    iterators = loops.getLoopIteratorTypes();
    kinds = loops.getReductionLoopIteratorKinds();
    maps = loops.getIndexingMaps();
  }
  axes.resize(iterators.size());
  isPartial.resize(numOperands);
  // An op that describes no loops, or describes them badly, keeps its values whole.
  bool isDescribed = maps.size() == numOperands + op->getNumResults();
  for (unsigned i = 0; isDescribed && i < maps.size(); ++i)
    isDescribed = static_cast<int64_t>(maps[i].getNumResults()) == valueType(op, i).getRank();
  if (!isDescribed)
    maps.clear();
}

// Compounds are sums of loop * stride; the first loop has the greatest stride.
static void collectTerms(AffineExpr expr, llvm::SmallVectorImpl<std::pair<int64_t, int64_t>> &terms) {
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr)) {
    terms.push_back({1, dim.getPosition()});
    return;
  }
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
  if (!binary)
    return;
  if (binary.getKind() == mlir::AffineExprKind::Add) {
    collectTerms(binary.getLHS(), terms);
    collectTerms(binary.getRHS(), terms);
    return;
  }
  auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(binary.getLHS());
  auto stride = llvm::dyn_cast<mlir::AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() == mlir::AffineExprKind::Mul && dim && stride)
    terms.push_back({stride.getValue(), dim.getPosition()});
}

static std::pair<int64_t, int64_t> firstTerm(AffineExpr expr) {
  SmallVector<std::pair<int64_t, int64_t>> terms;
  collectTerms(expr, terms);
  return terms.empty() ? std::make_pair<int64_t, int64_t>(1, -1) : *llvm::max_element(terms);
}

int64_t LoopSharding::loopOf(AffineExpr expr) const {
  int64_t loop = firstTerm(expr).second;
  return loop >= 0 && isFirstEverywhere(loop) ? loop : -1;
}

bool LoopSharding::isFirstEverywhere(int64_t loop) const {
  for (mlir::AffineMap map : maps)
    for (AffineExpr expr : map.getResults())
      if (expr.isFunctionOfDim(loop) && firstTerm(expr).second != loop)
        return false;
  return true;
}

int64_t LoopSharding::loopSize(int64_t loop) const {
  for (auto [index, map] : llvm::enumerate(maps))
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      if (auto [stride, first] = firstTerm(expr); first == loop)
        return valueType(op, index).getDimSize(dim) / stride;
  return 1;
}

std::optional<ReduceKind> LoopSharding::reductionOf(int64_t loop) const {
  // Kinds stand in the order of the reduction loops alone.
  size_t position = llvm::count_if(llvm::ArrayRef(iterators).take_front(loop), [](mlir::utils::IteratorType type) {
    return type == mlir::utils::IteratorType::reduction;
  });
  auto kind = position < kinds.size() ? kinds[position] : mlir::shard::ReductionKind::Sum;
  switch (kind) {
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

// Every rank would add an operand that the loop does not walk (put_add's first): wrong unless it is zero or a term of
// its own.
bool LoopSharding::isSummedAlone(int64_t loop) const {
  for (unsigned i = 0; i < numOperands; ++i) {
    bool isWalked = llvm::any_of(maps[i].getResults(), [&](AffineExpr expr) { return expr.isFunctionOfDim(loop); });
    bool isFloat = llvm::isa<mlir::FloatType>(valueType(op, i).getElementType());
    if (isFloat && !isWalked && !isPartial[i] && !isZero(op->getOperand(i)))
      return false;
  }
  return true;
}

// A result that does not walk a parallel loop would be whole of what each rank has a part of.
bool LoopSharding::isInEveryResult(int64_t loop) const {
  return llvm::all_of(llvm::ArrayRef(maps).drop_front(numOperands), [&](mlir::AffineMap map) {
    return llvm::any_of(map.getResults(), [&](AffineExpr expr) { return expr.isFunctionOfDim(loop); });
  });
}

bool LoopSharding::propose(unsigned index, ShardingAttr sharding, bool allowReduction) {
  auto proposed = axes;
  for (int64_t dim = 0, rank = sharding.getDims().size(); dim < rank; ++dim) {
    SmallVector<StringRef> dimAxes = sharding.getDimAxes(dim);
    if (dimAxes.empty())
      continue;
    int64_t loop = maps.empty() ? -1 : loopOf(maps[index].getResult(dim));
    if (loop < 0)
      return false;
    if (isReduction(loop) ? !(allowReduction && isSummedAlone(loop)) : !isInEveryResult(loop))
      return false;
    if (!proposed[loop].empty() && proposed[loop] != dimAxes)
      return false;
    proposed[loop] = dimAxes;
    int64_t parts = 1;
    for (StringRef axis : dimAxes)
      parts *= mesh.getSize(axis);
    if (loopSize(loop) % parts != 0)
      return false;
  }
  llvm::SmallSet<StringRef, 4> seen;
  std::optional<ReduceKind> kind;
  for (auto [loop, loopAxes] : llvm::enumerate(proposed)) {
    for (StringRef axis : loopAxes)
      if (!seen.insert(axis).second)
        return false;
    if (loopAxes.empty() || !isReduction(loop))
      continue;
    if (!reductionOf(loop) || (kind && kind != reductionOf(loop)))
      return false; // one value is partial by one kind
    kind = reductionOf(loop);
  }
  axes = std::move(proposed);
  return true;
}

SmallVector<StringRef> LoopSharding::getSummedAxes(unsigned index) const {
  SmallVector<StringRef> summed;
  for (int64_t loop = 0, count = maps.empty() ? 0 : axes.size(); loop < count; ++loop)
    if (isReduction(loop) && llvm::any_of(maps[index].getResults(), [&](AffineExpr e) { return loopOf(e) == loop; }))
      llvm::append_range(summed, axes[loop]);
  return summed;
}

ShardingAttr LoopSharding::valueSharding(unsigned index, bool isResult) const {
  mlir::MLIRContext *context = op->getContext();
  int64_t rank = valueType(op, index).getRank();
  if (maps.empty())
    return ShardingAttr::replicated(context, rank);
  mlir::Builder builder(context);
  SmallVector<mlir::Attribute> dims;
  llvm::SmallSet<int64_t, 4> used;
  for (AffineExpr expr : maps[index].getResults()) {
    int64_t loop = loopOf(expr);
    dims.push_back(loop < 0 ? builder.getArrayAttr({}) : builder.getStrArrayAttr(axes[loop]));
    used.insert(loop);
  }
  SmallVector<StringRef> partial;
  ReduceKind kind = ReduceKind::Sum;
  for (int64_t loop = 0, count = axes.size(); isResult && loop < count; ++loop)
    if (isReduction(loop) && !axes[loop].empty() && !used.contains(loop)) {
      llvm::append_range(partial, axes[loop]);
      kind = *reductionOf(loop);
    }
  return ShardingAttr::get(context, builder.getArrayAttr(dims),
                           partial.empty() ? mlir::ArrayAttr() : builder.getStrArrayAttr(partial), kind);
}

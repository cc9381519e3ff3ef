// Loops and indexing maps of the shape ops. Sharding knows nothing else about them (Rationale.md, "Indexing maps").
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/Folding.h"

using namespace cleave;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::AffineMap;
using mlir::utils::IteratorType;

static SmallVector<IteratorType> parallelLoops(int64_t count) {
  return SmallVector<IteratorType>(count, IteratorType::parallel);
}

#define CLEAVE_SHAPE_OP(OP, KIND)                                                                                      \
  SmallVector<mlir::shard::ReductionKind> OP::getReductionLoopIteratorKinds() { return {}; }                           \
  ComputeKind OP::getComputeKind() { return ComputeKind::KIND; }
CLEAVE_SHAPE_OP(ReshapeOp, View)
CLEAVE_SHAPE_OP(TransposeOp, Fusible)
CLEAVE_SHAPE_OP(BroadcastOp, Fusible)
CLEAVE_SHAPE_OP(SliceOp, View)
CLEAVE_SHAPE_OP(ConcatOp, View)
CLEAVE_SHAPE_OP(OffloadOp, View)
CLEAVE_SHAPE_OP(PadOp, Fusible)
CLEAVE_SHAPE_OP(IotaOp, Fusible)
#undef CLEAVE_SHAPE_OP

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

namespace {
// Cuts the row-major index space at the strides of both shapes. [6, 4] -> [24] has the cuts 24, 4, 1, and so the loops
// d0 = 6 and d1 = 4: the operand is (d0, d1), the result d0 * 4 + d1. If the cuts do not divide one another ([6, 4] ->
// [8, 3]: 4 and 3), the finer structure is lost: both sides cannot be split inside of the last common cut at which a
// dimension of each begins ([2, 6, 4] -> [2, 8, 3]: 24).
struct ReshapeLoops {
  SmallVector<int64_t> cuts; // descending, first the number of elements, each a multiple of the next

  explicit ReshapeLoops(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) {
    SmallVector<int64_t> all = {1};
    for (llvm::ArrayRef<int64_t> shape : {a, b}) {
      int64_t product = 1;
      for (int64_t size : llvm::reverse(shape))
        all.push_back(product *= size);
    }
    llvm::sort(all, std::greater<>());
    all.erase(llvm::unique(all), all.end());
    for (int64_t cut : all)
      if (cuts.empty() || (cut > 0 && cuts.back() % cut == 0))
        cuts.push_back(cut);
      else
        break;
    while (!beginsDimension(a, cuts.back()) || !beginsDimension(b, cuts.back()))
      cuts.pop_back();
  }

  static bool beginsDimension(llvm::ArrayRef<int64_t> shape, int64_t cut) {
    int64_t product = 1;
    for (int64_t size : llvm::reverse(shape)) {
      if (product == cut)
        return true;
      product *= size;
    }
    return product == cut;
  }

  int64_t numLoops() const { return static_cast<int64_t>(cuts.size()) - 1; }

  // A dimension covers the loops between stride * size and its stride. Returns 0 if one of these is not a cut.
  AffineExpr dimension(int64_t stride, int64_t size, mlir::MLIRContext *context) const {
    AffineExpr expr = mlir::getAffineConstantExpr(0, context);
    auto first = llvm::find(cuts, stride * size), last = llvm::find(cuts, stride);
    if (size <= 1 || first == cuts.end() || last == cuts.end())
      return expr;
    for (auto loop = first; loop != last; ++loop)
      expr = expr + mlir::getAffineDimExpr(loop - cuts.begin(), context) * (*(loop + 1) / stride);
    return expr;
  }

  AffineMap map(llvm::ArrayRef<int64_t> shape, mlir::MLIRContext *context) const {
    SmallVector<AffineExpr> exprs;
    for (auto [size, stride] : llvm::zip_equal(shape, rowMajorStrides(shape)))
      exprs.push_back(dimension(stride, size, context));
    return AffineMap::get(numLoops(), 0, exprs, context);
  }
};
} // namespace

SmallVector<IteratorType> ReshapeOp::getLoopIteratorTypes() {
  return parallelLoops(ReshapeLoops(getOperand().getType().getShape(), getResult().getType().getShape()).numLoops());
}

SmallVector<AffineMap> ReshapeOp::getIndexingMaps() {
  auto operand = getOperand().getType().getShape(), result = getResult().getType().getShape();
  ReshapeLoops loops(operand, result);
  return {loops.map(operand, getContext()), loops.map(result, getContext())};
}

//===----------------------------------------------------------------------===//
// The others: one loop for each result dimension
//===----------------------------------------------------------------------===//

SmallVector<IteratorType> OffloadOp::getLoopIteratorTypes() { return parallelLoops(getResult().getType().getRank()); }

SmallVector<AffineMap> OffloadOp::getIndexingMaps() {
  return SmallVector<AffineMap>(2, AffineMap::getMultiDimIdentityMap(getResult().getType().getRank(), getContext()));
}

SmallVector<IteratorType> TransposeOp::getLoopIteratorTypes() { return parallelLoops(getPermutation().size()); }

SmallVector<AffineMap> TransposeOp::getIndexingMaps() {
  SmallVector<AffineExpr> operand(getPermutation().size());
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    operand[from] = mlir::getAffineDimExpr(to, getContext());
  AffineMap identity = AffineMap::getMultiDimIdentityMap(operand.size(), getContext());
  return {AffineMap::get(operand.size(), 0, operand, getContext()), identity};
}

SmallVector<IteratorType> BroadcastOp::getLoopIteratorTypes() { return parallelLoops(getResult().getType().getRank()); }

SmallVector<AffineMap> BroadcastOp::getIndexingMaps() {
  int64_t rank = getResult().getType().getRank();
  SmallVector<AffineExpr> operand;
  for (int64_t dim : getDims())
    operand.push_back(mlir::getAffineDimExpr(dim, getContext()));
  return {AffineMap::get(rank, 0, operand, getContext()), AffineMap::getMultiDimIdentityMap(rank, getContext())};
}

// Returns the identity, except for the dimensions that cannot be split.
template <typename Predicate>
static AffineMap partialIdentity(int64_t rank, mlir::MLIRContext *context, Predicate isWhole) {
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = 0; dim < rank; ++dim)
    exprs.push_back(isWhole(dim) ? mlir::getAffineDimExpr(dim, context) : mlir::getAffineConstantExpr(0, context));
  return AffineMap::get(rank, 0, exprs, context);
}

SmallVector<IteratorType> SliceOp::getLoopIteratorTypes() { return parallelLoops(getSizes().size()); }

SmallVector<AffineMap> SliceOp::getIndexingMaps() {
  auto operand = getOperand().getType();
  AffineMap map = partialIdentity(operand.getRank(), getContext(),
                                  [&](int64_t dim) { return getSizes()[dim] == operand.getDimSize(dim); });
  return {map, map};
}

SmallVector<IteratorType> ConcatOp::getLoopIteratorTypes() { return parallelLoops(getResult().getType().getRank()); }

SmallVector<AffineMap> ConcatOp::getIndexingMaps() {
  AffineMap map = partialIdentity(getResult().getType().getRank(), getContext(),
                                  [&](int64_t dim) { return dim != static_cast<int64_t>(getDim()); });
  return SmallVector<AffineMap>(getNumOperands() + 1, map);
}

SmallVector<IteratorType> PadOp::getLoopIteratorTypes() { return parallelLoops(getLow().size()); }

SmallVector<AffineMap> PadOp::getIndexingMaps() {
  AffineMap map = partialIdentity(getLow().size(), getContext(), [&](int64_t dim) {
    return getLow()[dim] == 0 && getHigh()[dim] == 0 && getInterior()[dim] == 0;
  });
  return {map, map};
}

SmallVector<IteratorType> IotaOp::getLoopIteratorTypes() { return parallelLoops(getResult().getType().getRank()); }

SmallVector<AffineMap> IotaOp::getIndexingMaps() {
  int64_t rank = getResult().getType().getRank();
  SmallVector<AffineMap> maps;
  if (getOrigin())
    maps.push_back(AffineMap::get(rank, 0, mlir::getAffineConstantExpr(0, getContext())));
  maps.push_back(AffineMap::getMultiDimIdentityMap(rank, getContext()));
  return maps;
}

// A part of a part begins at the sum of both origins.
mlir::Value IotaOp::localize(mlir::OpBuilder &builder, mlir::RankedTensorType local, mlir::Value origin) {
  if (getOrigin())
    origin = AddOp::create(builder, getLoc(), getOrigin(), origin);
  return IotaOp::create(builder, getLoc(), local, getDimAttr(), origin);
}

bool IotaOp::countsAlong(int64_t dim) { return dim == static_cast<int64_t>(getDim()); }

// Only dimensions that are taken whole are split. Their sizes become those of the part.
mlir::Value SliceOp::localize(mlir::OpBuilder &builder, mlir::RankedTensorType local, mlir::Value) {
  return SliceOp::create(builder, getLoc(), local, getOperand(), getStarts(), local.getShape(), getSteps());
}

bool SliceOp::dependsOnOrigin() { return false; }

// cleave.pick and cleave.put: types, loops, cost, kernels. What both share is written once, for the table (the
// operand), the indices, and the slices (the picked slices, or the updates).
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/IR/Scatter.h"

using namespace cleave;
using llvm::ArrayRef;
using mlir::Value;
using mlir::utils::IteratorType;

namespace {
struct Indexing {
  Value table, indices;
  int64_t dim, batch; // the indexed dimension; the number of leading dimensions that table and indices share

  int64_t tableRank() const { return tensorTypeOf(table).getRank(); }
  // The rank of the indices without the batch.
  int64_t indexRank() const { return tensorTypeOf(indices).getRank() - batch; }
  // Returns table[:dim] + indices[batch:] + table[dim+1:].
  SmallVector<int64_t> slicesShape() const {
    ArrayRef<int64_t> shape = shapeOf(table);
    SmallVector<int64_t> slices(shape.take_front(dim));
    llvm::append_range(slices, shapeOf(indices).drop_front(batch));
    llvm::append_range(slices, shape.drop_front(dim + 1));
    return slices;
  }
};
} // namespace

template <typename Op> static Indexing indexingOf(Op op) {
  return {op.getOperand(), op.getIndices(), static_cast<int64_t>(op.getDim()), static_cast<int64_t>(op.getBatch())};
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static llvm::LogicalResult check(std::optional<mlir::Location> location, llvm::StringRef op, const Indexing &x) {
  if (x.dim < 0 || x.dim >= x.tableRank())
    return mlir::emitOptionalError(location, "'", op, "' op expects dim in [0, ", x.tableRank(),
                                   "), the operand's dimensions; got: ", x.dim);
  mlir::Type element = tensorTypeOf(x.indices).getElementType();
  if (!element.isSignlessInteger(32) && !element.isSignlessInteger(64))
    return mlir::emitOptionalError(location, "'", op, "' op expects i32 or i64 indices; got: ", element);
  if (x.batch < 0 || x.batch > x.dim || x.indexRank() < 0)
    return mlir::emitOptionalError(location, "'", op, "' op expects a batch in [0, ", x.dim,
                                   "], the dimensions before dim that the indices have too; got: ", x.batch);
  if (shapeOf(x.table).take_front(x.batch) != shapeOf(x.indices).take_front(x.batch))
    return mlir::emitOptionalError(location, "'", op, "' op expects ", x.batch,
                                   " equal batch dimensions; got: ", x.table.getType(), " and ", x.indices.getType());
  return mlir::success();
}

llvm::LogicalResult PickOp::inferReturnTypes(mlir::MLIRContext *, std::optional<mlir::Location> location,
                                             mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                             mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                             llvm::SmallVectorImpl<mlir::Type> &types) {
  Indexing indexing = indexingOf(Adaptor(operands, attributes, properties, regions));
  if (mlir::failed(check(location, getOperationName(), indexing)))
    return mlir::failure();
  types.push_back(tensorTypeOf(indexing.table).clone(indexing.slicesShape()));
  return mlir::success();
}

llvm::LogicalResult PutOp::inferReturnTypes(mlir::MLIRContext *, std::optional<mlir::Location> location,
                                            mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                            mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                            llvm::SmallVectorImpl<mlir::Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  Indexing indexing = indexingOf(op);
  if (mlir::failed(check(location, getOperationName(), indexing)))
    return mlir::failure();
  auto type = tensorTypeOf(indexing.table);
  auto updates = type.clone(indexing.slicesShape());
  if (op.getUpdates().getType() != updates)
    return mlir::emitOptionalError(location, "'", getOperationName(), "' op expects updates of type ", updates,
                                   ", the slices that the indices name; got: ", op.getUpdates().getType());
  types.push_back(type);
  return mlir::success();
}

llvm::LogicalResult PutOp::verify() {
  mlir::Type element = getType().getElementType();
  bool isNumber = llvm::isa<mlir::FloatType>(element) || (element.isSignlessInteger() && !element.isInteger(1));
  if (getCombine() && !isNumber)
    return emitOpError("combines numbers, cast other elements first; got: ") << getType();
  return mlir::success();
}

//===----------------------------------------------------------------------===//
// Loops: the dimensions of the slices: batch..., outer..., indices..., inner.... The indexed dimension stays whole,
// because only the run shows which of its elements are read or written.
//===----------------------------------------------------------------------===//

static int64_t slicesRank(const Indexing &x) { return x.tableRank() - 1 + x.indexRank(); }

static AffineMap tableMap(const Indexing &x) {
  SmallVector<int64_t> loops = range(0, x.dim);
  loops.push_back(kWhole);
  llvm::append_range(loops, range(x.dim + x.indexRank(), x.tableRank() - x.dim - 1));
  return loopMap(x.table.getContext(), slicesRank(x), loops);
}

// With `isWhole`, the dimensions of the indices cannot be split.
static AffineMap indicesMap(const Indexing &x, bool isWhole) {
  SmallVector<int64_t> loops = range(0, x.batch);
  llvm::append_range(loops, isWhole ? SmallVector<int64_t>(x.indexRank(), kWhole) : range(x.dim, x.indexRank()));
  return loopMap(x.table.getContext(), slicesRank(x), loops);
}

static AffineMap slicesMap(const Indexing &x, bool isWhole) {
  SmallVector<int64_t> loops = range(0, slicesRank(x));
  if (isWhole)
    std::fill_n(loops.begin() + x.dim, x.indexRank(), kWhole);
  return loopMap(x.table.getContext(), slicesRank(x), loops);
}

SmallVector<IteratorType> PickOp::getLoopIteratorTypes() {
  return SmallVector<IteratorType>(getType().getRank(), IteratorType::parallel);
}
SmallVector<ReductionKind> PickOp::getReductionLoopIteratorKinds() { return {}; }
SmallVector<AffineMap> PickOp::getIndexingMaps() {
  Indexing x = indexingOf(*this);
  return {tableMap(x), indicesMap(x, false), slicesMap(x, false)};
}

// The dimensions of the indices are not split, because only with all updates it is known which one comes last.
SmallVector<IteratorType> PutOp::getLoopIteratorTypes() {
  return SmallVector<IteratorType>(slicesRank(indexingOf(*this)), IteratorType::parallel);
}
SmallVector<ReductionKind> PutOp::getReductionLoopIteratorKinds() { return {}; }
SmallVector<AffineMap> PutOp::getIndexingMaps() {
  Indexing x = indexingOf(*this);
  return {tableMap(x), indicesMap(x, true), slicesMap(x, true), tableMap(x)};
}

//===----------------------------------------------------------------------===//
// Cost and kernel
//===----------------------------------------------------------------------===//

static KernelSpec specOf(llvm::StringRef name, const Indexing &x) {
  ArrayRef<int64_t> shape = shapeOf(x.table), indices = shapeOf(x.indices);
  return {name,
          {{"batch", {product(shape.take_front(x.batch))}},
           {"outer", {product(shape.slice(x.batch, x.dim - x.batch))}},
           {"rows", {shape[x.dim]}},
           {"inner", {product(shape.drop_front(x.dim + 1))}},
           {"indices", {product(indices.drop_front(x.batch))}}},
          {{"dtype", tensorTypeOf(x.table).getElementType()}, {"index_dtype", tensorTypeOf(x.indices).getElementType()}}};
}

// Only the slices that are picked are read from the table.
OpCost PickOp::getCost() { return {0, 2 * byteSize(getType()) + byteSize(getIndices().getType())}; }
ComputeKind PickOp::getComputeKind() { return ComputeKind::Kernel; }
KernelSpec PickOp::getKernelSpec() { return specOf("pick", indexingOf(*this)); }

// The operand counts as copied, but a kernel that works in place touches only the rows that are updated.
OpCost PutOp::getCost() {
  return costWithFlops(*this, getCombine() ? tensorTypeOf(getUpdates()).getNumElements() : 0);
}
ComputeKind PutOp::getComputeKind() { return ComputeKind::Kernel; }
KernelSpec PutOp::getKernelSpec() {
  KernelSpec spec = specOf("put", indexingOf(*this));
  spec.params.push_back({"combine", {getCombine() ? static_cast<int64_t>(*getCombine()) : -1}});
  return spec;
}

// cleave.take and cleave.put_add.
#include "dialects/Cleave/IR/OpSupport.h"

#include "mlir/IR/Matchers.h"

using namespace cleave;
using llvm::ArrayRef;
using mlir::Value;
using mlir::utils::IteratorType;

// operand[:dim] + indices + operand[dim+1:]
static SmallVector<int64_t> takenShape(ArrayRef<int64_t> operand, ArrayRef<int64_t> indices, int64_t dim) {
  SmallVector<int64_t> shape(operand.take_front(dim));
  llvm::append_range(shape, indices);
  llvm::append_range(shape, operand.drop_front(dim + 1));
  return shape;
}

static llvm::LogicalResult checkIndexing(std::optional<mlir::Location> location, llvm::StringRef op, Value operand,
                                         Value indices, int64_t dim) {
  int64_t rank = tensorTypeOf(operand).getRank();
  if (dim < 0 || dim >= rank)
    return mlir::emitOptionalError(location, "'", op, "' op expects dim in [0, ", rank,
                                   "), the operand's dimensions; got: ", dim);
  mlir::Type element = tensorTypeOf(indices).getElementType();
  if (!element.isSignlessInteger(32) && !element.isSignlessInteger(64))
    return mlir::emitOptionalError(location, "'", op, "' op expects i32 or i64 indices; got: ", element);
  return mlir::success();
}

// The loops are the result's (or updates') dimensions: outer..., indices..., inner.... The dimension that is indexed
// stays whole: which of its elements are read is known at run time only.
static AffineMap tableMap(Value operand, Value indices, int64_t dim) {
  int64_t rank = tensorTypeOf(operand).getRank(), indexRank = tensorTypeOf(indices).getRank();
  SmallVector<int64_t> loops = range(0, dim);
  loops.push_back(kWhole);
  llvm::append_range(loops, range(dim + indexRank, rank - dim - 1));
  return loopMap(operand.getContext(), rank - 1 + indexRank, loops);
}

static AffineMap indicesMap(Value operand, Value indices, int64_t dim) {
  int64_t rank = tensorTypeOf(operand).getRank(), indexRank = tensorTypeOf(indices).getRank();
  return loopMap(operand.getContext(), rank - 1 + indexRank, range(dim, indexRank));
}

static KernelSpec indexingSpec(llvm::StringRef name, Value operand, Value indices, int64_t dim) {
  ArrayRef<int64_t> shape = shapeOf(operand);
  return {name,
          {{"outer", {product(shape.take_front(dim))}},
           {"rows", {shape[dim]}},
           {"inner", {product(shape.drop_front(dim + 1))}},
           {"indices", {product(shapeOf(indices))}}},
          {{"dtype", tensorTypeOf(operand).getElementType()}, {"index_dtype", tensorTypeOf(indices).getElementType()}}};
}

//===----------------------------------------------------------------------===//
// TakeOp
//===----------------------------------------------------------------------===//

llvm::LogicalResult TakeOp::inferReturnTypes(mlir::MLIRContext *, std::optional<mlir::Location> location,
                                             mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                             mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                             llvm::SmallVectorImpl<mlir::Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  if (mlir::failed(checkIndexing(location, getOperationName(), op.getOperand(), op.getIndices(), op.getDim())))
    return mlir::failure();
  auto type = tensorTypeOf(op.getOperand());
  types.push_back(type.clone(takenShape(type.getShape(), shapeOf(op.getIndices()), op.getDim())));
  return mlir::success();
}

// Rows that are taken often add up in f32, as every sum of narrow numbers does.
llvm::LogicalResult TakeOp::buildVJP(mlir::OpBuilder &opBuilder, ArrayRef<Value> resultGrads,
                                     llvm::SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0] || !llvm::isa<mlir::FloatType>(getType().getElementType()))
    return mlir::success();
  mlir::ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  Value updates = widen(builder, resultGrads[0]);
  mlir::Type element = tensorTypeOf(getOperand()).getElementType();
  Value zeros = splat(builder, tensorTypeOf(getOperand()).clone(tensorTypeOf(updates).getElementType()), 0.0);
  Value sum = PutAddOp::create(builder, zeros, getIndices(), updates, getDim());
  operandGrads[0] = castTo(builder, sum, element);
  return mlir::success();
}

SmallVector<IteratorType> TakeOp::getLoopIteratorTypes() {
  return SmallVector<IteratorType>(getType().getRank(), IteratorType::parallel);
}
SmallVector<ReductionKind> TakeOp::getReductionLoopIteratorKinds() { return {}; }
SmallVector<AffineMap> TakeOp::getIndexingMaps() {
  return {tableMap(getOperand(), getIndices(), getDim()), indicesMap(getOperand(), getIndices(), getDim()),
          AffineMap::getMultiDimIdentityMap(getType().getRank(), getContext())};
}

// What is touched of the table is what is taken from it.
OpCost TakeOp::getCost() { return {0, 2 * byteSize(getType()) + byteSize(getIndices().getType())}; }
ComputeKind TakeOp::getComputeKind() { return ComputeKind::Kernel; }
KernelSpec TakeOp::getKernelSpec() { return indexingSpec("take", getOperand(), getIndices(), getDim()); }

//===----------------------------------------------------------------------===//
// PutAddOp
//===----------------------------------------------------------------------===//

llvm::LogicalResult PutAddOp::inferReturnTypes(mlir::MLIRContext *, std::optional<mlir::Location> location,
                                               mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                               mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                               llvm::SmallVectorImpl<mlir::Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  if (mlir::failed(checkIndexing(location, getOperationName(), op.getOperand(), op.getIndices(), op.getDim())))
    return mlir::failure();
  auto type = tensorTypeOf(op.getOperand());
  auto updates = type.clone(takenShape(type.getShape(), shapeOf(op.getIndices()), op.getDim()));
  if (op.getUpdates().getType() != updates)
    return mlir::emitOptionalError(location, "'cleave.put_add' op expects updates of type ", updates,
                                   ", the slices that the indices name; got: ", op.getUpdates().getType());
  types.push_back(type);
  return mlir::success();
}

llvm::LogicalResult PutAddOp::verify() {
  if (getType().getElementType().isInteger(1))
    return emitOpError("adds numbers, cast i1 first; got: ") << getType();
  return mlir::success();
}

// When the operand is zero, the ranks' results for different indices add up to the whole: the index dimensions are then
// a reduction (the gradient of an embedding under data parallelism). Any other operand would be counted once a rank.
static bool addsToZero(PutAddOp op) {
  mlir::SplatElementsAttr constant;
  if (!mlir::matchPattern(op.getOperand(), mlir::m_Constant(&constant)))
    return false;
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(constant.getSplatValue<mlir::Attribute>()))
    return number.getValue().isZero();
  return constant.getSplatValue<llvm::APInt>().isZero();
}

SmallVector<IteratorType> PutAddOp::getLoopIteratorTypes() {
  int64_t indexRank = tensorTypeOf(getIndices()).getRank();
  SmallVector<IteratorType> types(tensorTypeOf(getUpdates()).getRank(), IteratorType::parallel);
  if (addsToZero(*this))
    for (int64_t loop : range(getDim(), indexRank))
      types[loop] = IteratorType::reduction;
  return types;
}

SmallVector<ReductionKind> PutAddOp::getReductionLoopIteratorKinds() {
  return SmallVector<ReductionKind>(addsToZero(*this) ? tensorTypeOf(getIndices()).getRank() : 0, ReductionKind::Sum);
}

SmallVector<AffineMap> PutAddOp::getIndexingMaps() {
  int64_t updateRank = tensorTypeOf(getUpdates()).getRank(), indexRank = tensorTypeOf(getIndices()).getRank();
  AffineMap table = tableMap(getOperand(), getIndices(), getDim());
  if (addsToZero(*this))
    return {table, indicesMap(getOperand(), getIndices(), getDim()),
            AffineMap::getMultiDimIdentityMap(updateRank, getContext()), table};
  SmallVector<int64_t> updates = range(0, updateRank);
  for (int64_t loop : range(getDim(), indexRank))
    updates[loop] = kWhole;
  return {table, loopMap(getContext(), updateRank, SmallVector<int64_t>(indexRank, kWhole)),
          loopMap(getContext(), updateRank, updates), table};
}

// The operand counts as copied; a kernel that works in place touches only the rows that updates go to.
OpCost PutAddOp::getCost() { return costWithFlops(*this, tensorTypeOf(getUpdates()).getNumElements()); }
ComputeKind PutAddOp::getComputeKind() { return ComputeKind::Kernel; }
KernelSpec PutAddOp::getKernelSpec() { return indexingSpec("put_add", getOperand(), getIndices(), getDim()); }
std::optional<unsigned> PutAddOp::getInPlaceOperand() { return 0; }

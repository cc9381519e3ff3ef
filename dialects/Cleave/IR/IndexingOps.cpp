// cleave.take and cleave.put_add.
#include "dialects/Cleave/IR/IndexingGradients.h"
#include "dialects/Cleave/IR/OpSupport.h"

using namespace cleave;
using llvm::ArrayRef;
using mlir::Value;
using mlir::utils::IteratorType;

// Returns operand[:dim] + indices + operand[dim+1:].
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

// The loops are the result's (or updates') dimensions: outer..., indices..., inner.... The indexed dimension stays
// whole, because only the run shows which of its elements are read.
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

// The gradients of rows that are taken several times are added in f32, as in every sum of narrow numbers.
llvm::LogicalResult TakeOp::buildVJP(mlir::OpBuilder &opBuilder, ArrayRef<Value> resultGrads,
                                     llvm::SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0] || !llvm::isa<mlir::FloatType>(getType().getElementType()))
    return mlir::success();
  mlir::ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  Value updates = widen(builder, resultGrads[0]);
  mlir::Type element = tensorTypeOf(getOperand()).getElementType();
  Value zeros = splat(builder, getLoc(), tensorTypeOf(getOperand()).clone(tensorTypeOf(updates).getElementType()), 0.0);
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

// Only the rows that are taken are read from the table.
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

// Linear in operand and updates together. The gradient of the sum is that of the operand, and each update has the
// gradient of the slice that it was added to.
namespace {
struct PutAddGradient : DifferentiableOpInterface::ExternalModel<PutAddGradient, PutAddOp> {
  llvm::LogicalResult buildVJP(mlir::Operation *op, mlir::OpBuilder &builder, ArrayRef<Value> resultGrads,
                               llvm::SmallVectorImpl<Value> &operandGrads) const {
    auto putAdd = llvm::cast<PutAddOp>(op);
    if (!resultGrads[0] || !llvm::isa<mlir::FloatType>(putAdd.getType().getElementType()))
      return mlir::success();
    operandGrads[0] = resultGrads[0];
    operandGrads[2] = TakeOp::create(builder, op->getLoc(), resultGrads[0], putAdd.getIndices(), putAdd.getDim());
    return mlir::success();
  }
};
} // namespace

void cleave::attachPutAddGradient(mlir::MLIRContext &context) { PutAddOp::attachInterface<PutAddGradient>(context); }

// The index dimensions are a reduction: if ranks put different updates, their results add up. This loop does not walk
// the operand, so each rank would add it. That is right for a zero (the gradient of an embedding under data
// parallelism) and for a term of a sum. LoopSharding checks this.
SmallVector<IteratorType> PutAddOp::getLoopIteratorTypes() {
  SmallVector<IteratorType> types(tensorTypeOf(getUpdates()).getRank(), IteratorType::parallel);
  for (int64_t loop : range(getDim(), tensorTypeOf(getIndices()).getRank()))
    types[loop] = IteratorType::reduction;
  return types;
}

SmallVector<ReductionKind> PutAddOp::getReductionLoopIteratorKinds() {
  return SmallVector<ReductionKind>(tensorTypeOf(getIndices()).getRank(), ReductionKind::Sum);
}

SmallVector<AffineMap> PutAddOp::getIndexingMaps() {
  AffineMap table = tableMap(getOperand(), getIndices(), getDim());
  return {table, indicesMap(getOperand(), getIndices(), getDim()),
          AffineMap::getMultiDimIdentityMap(tensorTypeOf(getUpdates()).getRank(), getContext()), table};
}

// The operand counts as copied, but a kernel that works in place touches only the rows that are updated.
OpCost PutAddOp::getCost() { return costWithFlops(*this, tensorTypeOf(getUpdates()).getNumElements()); }
ComputeKind PutAddOp::getComputeKind() { return ComputeKind::Kernel; }
KernelSpec PutAddOp::getKernelSpec() { return indexingSpec("put_add", getOperand(), getIndices(), getDim()); }

// max_pool, avg_pool and their gradients.
//
// As for convolutions, a pool and its gradient relate two tensors, x [n, c, in...] and y [n, c, out...].
#include "dialects/Cleave/IR/WindowSupport.h"

using namespace cleave;
using llvm::ArrayRef;
using mlir::RankedTensorType;
using mlir::Value;
using mlir::utils::IteratorType;

template <typename Op> static Window windowOf(Op op) {
  return {op.getWindow(), op.getStrides(), op.getDilations(), op.getPadLow(), op.getPadHigh()};
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

// Returns the type of y for x.
static llvm::FailureOr<RankedTensorType> resultType(RankedTensorType x, const Window &window, EmitError emitError) {
  if (x.getRank() < 3)
    return emitError() << "expects an input [n, c, in...] of rank 3 or more; got: " << x;
  auto out = poolOutput(window, x.getShape().drop_front(2), emitError);
  if (mlir::failed(out))
    return mlir::failure();
  SmallVector<int64_t> shape = {x.getDimSize(0), x.getDimSize(1)};
  llvm::append_range(shape, *out);
  return x.clone(shape);
}

template <typename Adaptor>
static llvm::LogicalResult inferPool(llvm::StringRef name, Adaptor op, std::optional<mlir::Location> location,
                                     llvm::SmallVectorImpl<mlir::Type> &types) {
  auto x = tensorTypeOf(op.getInput());
  auto emitError = [&] {
    return mlir::emitError(location.value_or(mlir::UnknownLoc::get(x.getContext()))) << "'" << name << "' op ";
  };
  auto type = resultType(x, windowOf(op), emitError);
  if (mlir::failed(type))
    return mlir::failure();
  types.push_back(*type);
  return mlir::success();
}

llvm::LogicalResult MaxPoolOp::inferReturnTypes(mlir::MLIRContext *, std::optional<mlir::Location> location,
                                                mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                                mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                                llvm::SmallVectorImpl<mlir::Type> &types) {
  return inferPool(getOperationName(), Adaptor(operands, attributes, properties, regions), location, types);
}

llvm::LogicalResult AvgPoolOp::inferReturnTypes(mlir::MLIRContext *, std::optional<mlir::Location> location,
                                                mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                                mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                                llvm::SmallVectorImpl<mlir::Type> &types) {
  return inferPool(getOperationName(), Adaptor(operands, attributes, properties, regions), location, types);
}

// The result of a gradient op has x's type.
template <typename Op> static llvm::LogicalResult verifyGradient(Op op) {
  auto emitError = [&] { return op.emitOpError(); };
  auto type = resultType(op.getType(), windowOf(op), emitError);
  return mlir::failed(type) ? mlir::failure() : checkForwardType(op.getResultGrad().getType(), *type, emitError);
}
llvm::LogicalResult MaxPoolGradOp::verify() { return verifyGradient(*this); }
llvm::LogicalResult AvgPoolGradOp::verify() { return verifyGradient(*this); }

llvm::LogicalResult MaxPoolOp::buildVJP(mlir::OpBuilder &builder, ArrayRef<Value> resultGrads,
                                        llvm::SmallVectorImpl<Value> &operandGrads) {
  if (resultGrads[0])
    operandGrads[0] = MaxPoolGradOp::create(builder, getLoc(), getInput().getType(), getInput(), resultGrads[0],
                                            getWindow(), getStrides(), getDilations(), getPadLow(), getPadHigh());
  return mlir::success();
}

llvm::LogicalResult AvgPoolOp::buildVJP(mlir::OpBuilder &builder, ArrayRef<Value> resultGrads,
                                        llvm::SmallVectorImpl<Value> &operandGrads) {
  if (resultGrads[0])
    operandGrads[0] = AvgPoolGradOp::create(builder, getLoc(), getInput().getType(), resultGrads[0], getCountPad(),
                                            getWindow(), getStrides(), getDilations(), getPadLow(), getPadHigh());
  return mlir::success();
}

//===----------------------------------------------------------------------===//
// Loops n, c; spatial dimensions stay whole. Cost and kernel.
//===----------------------------------------------------------------------===//

static SmallVector<AffineMap> poolMaps(mlir::Operation *op, int64_t rank) {
  SmallVector<int64_t> loops(rank, kWhole);
  loops[0] = 0;
  loops[1] = 1;
  return SmallVector<AffineMap>(op->getNumOperands() + 1, loopMap(op->getContext(), 2, loops));
}

static OpCost poolCost(mlir::Operation *op, RankedTensorType y, ArrayRef<int64_t> window) {
  return costWithFlops(op, y.getNumElements() * product(window));
}

static KernelSpec poolSpec(llvm::StringRef name, const Window &window, RankedTensorType x, RankedTensorType y,
                           std::optional<bool> countPad) {
  KernelSpec spec = {name, {{"n", {x.getDimSize(0)}}, {"c", {x.getDimSize(1)}}}, {{"dtype", x.getElementType()}}};
  if (countPad)
    spec.params.push_back({"count_pad", {*countPad}});
  appendWindowParams(spec, window, x.getShape().drop_front(2), y.getShape().drop_front(2));
  return spec;
}

// X and Y name the values of the two tensors.
#define POOL_OP(Op, Name, X, Y, CountPad)                                                                              \
  SmallVector<IteratorType> Op::getLoopIteratorTypes() { return {IteratorType::parallel, IteratorType::parallel}; }    \
  SmallVector<ReductionKind> Op::getReductionLoopIteratorKinds() { return {}; }                                        \
  SmallVector<AffineMap> Op::getIndexingMaps() { return poolMaps(*this, getType().getRank()); }                        \
  OpCost Op::getCost() { return poolCost(*this, Y().getType(), getWindow()); }                                         \
  ComputeKind Op::getComputeKind() { return ComputeKind::Kernel; }                                                     \
  KernelSpec Op::getKernelSpec() { return poolSpec(Name, windowOf(*this), X().getType(), Y().getType(), CountPad); }
POOL_OP(MaxPoolOp, "max_pool", getInput, getResult, std::nullopt)
POOL_OP(MaxPoolGradOp, "max_pool_grad", getInput, getResultGrad, std::nullopt)
POOL_OP(AvgPoolOp, "avg_pool", getInput, getResult, getCountPad())
POOL_OP(AvgPoolGradOp, "avg_pool_grad", getResult, getResultGrad, getCountPad())
#undef POOL_OP

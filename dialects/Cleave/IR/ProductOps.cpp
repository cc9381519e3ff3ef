// cleave.matmul_bias_grad.
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/IR/Products.h"

using namespace cleave;
using mlir::ImplicitLocOpBuilder;
using mlir::Value;
using mlir::utils::IteratorType;

namespace {
enum Loop : int64_t { M, N, K };
} // namespace

llvm::LogicalResult MatmulBiasGradOp::inferReturnTypes(mlir::MLIRContext *, std::optional<mlir::Location> location,
                                                       mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                                       mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                                       llvm::SmallVectorImpl<mlir::Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto lhs = tensorTypeOf(op.getLhs()), rhs = tensorTypeOf(op.getRhs());
  if (lhs.getRank() != 2 || rhs.getRank() != 2 || lhs.getElementType() != rhs.getElementType() ||
      lhs.getDimSize(0) != rhs.getDimSize(0))
    return mlir::emitOptionalError(location,
                                   "'cleave.matmul_bias_grad' op expects operands of rank 2, of one element type and with "
                                   "as many rows; got: ",
                                   lhs, " and ", rhs);
  int64_t m = lhs.getDimSize(1), n = rhs.getDimSize(1);
  types.assign({lhs.clone({m, n}), lhs.clone({op.getOfLhs() ? m : n})});
  return mlir::success();
}

SmallVector<IteratorType> MatmulBiasGradOp::getLoopIteratorTypes() {
  return {IteratorType::parallel, IteratorType::parallel, IteratorType::reduction};
}

SmallVector<ReductionKind> MatmulBiasGradOp::getReductionLoopIteratorKinds() { return {ReductionKind::Sum}; }

SmallVector<AffineMap> MatmulBiasGradOp::getIndexingMaps() {
  auto map = [&](llvm::ArrayRef<int64_t> loops) { return loopMap(getContext(), 3, loops); };
  return {map({K, M}), map({K, N}), map({M, N}), map({getOfLhs() ? M : N})};
}

OpCost MatmulBiasGradOp::getCost() {
  double elements = static_cast<double>(tensorTypeOf(getResult()).getNumElements());
  double flops = 2.0 * elements * static_cast<double>(tensorTypeOf(getLhs()).getDimSize(0));
  Value summed = getOfLhs() ? getLhs() : getRhs();
  return costWithFlops(*this, static_cast<int64_t>(std::min(flops, 0x1p58)) + tensorTypeOf(summed).getNumElements());
}

ComputeKind MatmulBiasGradOp::getComputeKind() { return ComputeKind::Kernel; }

KernelSpec MatmulBiasGradOp::getKernelSpec() {
  auto lhs = tensorTypeOf(getLhs()), rhs = tensorTypeOf(getRhs());
  mlir::Type element = lhs.getElementType();
  return {getOfLhs() ? "matmul_bias_grad_a" : "matmul_bias_grad",
          {{"m", {lhs.getDimSize(1)}}, {"n", {rhs.getDimSize(1)}}, {"k", {lhs.getDimSize(0)}}},
          {{"dtype", element}, {"out_dtype", element}}};
}

bool MatmulBiasGradOp::isDecomposable() { return true; }

SmallVector<Value> MatmulBiasGradOp::decompose(mlir::OpBuilder &opBuilder, mlir::ValueRange operands) {
  ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  Value product = MatmulOp::create(builder, operands[0], operands[1], /*bias=*/Value(), /*transpose_lhs=*/true,
                                   /*transpose_rhs=*/false);
  return {product, reduceSum(builder, operands[getOfLhs() ? 0 : 1], {0})};
}

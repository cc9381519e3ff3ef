// cleave.matmul.
#include "dialects/Cleave/IR/OpSupport.h"

using namespace cleave;
using llvm::ArrayRef;
using mlir::ImplicitLocOpBuilder;
using mlir::Value;
using mlir::utils::IteratorType;

namespace {
// The sizes of a product.
struct MatmulSizes {
  ArrayRef<int64_t> batch;
  int64_t m, n, k, rhsK;
};
} // namespace

static MatmulSizes sizesOf(ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs, bool transposeLhs, bool transposeRhs) {
  MatmulSizes sizes;
  sizes.batch = (lhs.size() >= rhs.size() ? lhs : rhs).drop_back(2);
  sizes.m = lhs[lhs.size() - (transposeLhs ? 1 : 2)];
  sizes.k = lhs[lhs.size() - (transposeLhs ? 2 : 1)];
  sizes.rhsK = rhs[rhs.size() - (transposeRhs ? 1 : 2)];
  sizes.n = rhs[rhs.size() - (transposeRhs ? 2 : 1)];
  return sizes;
}

static MatmulSizes sizesOf(MatmulOp op) {
  return sizesOf(shapeOf(op.getLhs()), shapeOf(op.getRhs()), op.getTransposeLhs(), op.getTransposeRhs());
}

// An operand of rank 2 serves all batches if the other operand has batch dimensions.
static bool isShared(Value operand, Value other) { return shapeOf(operand).size() == 2 && shapeOf(other).size() > 2; }

llvm::LogicalResult MatmulOp::inferReturnTypes(mlir::MLIRContext *, std::optional<mlir::Location> location,
                                               mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                               mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                               llvm::SmallVectorImpl<mlir::Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto lhs = tensorTypeOf(op.getLhs()), rhs = tensorTypeOf(op.getRhs());
  if (lhs.getElementType() != rhs.getElementType())
    return mlir::emitOptionalError(location, "'cleave.matmul' op expects operands of one element type; got: ",
                                   lhs.getElementType(), " and ", rhs.getElementType());
  if (lhs.getRank() < 2 || rhs.getRank() < 2)
    return mlir::emitOptionalError(location, "'cleave.matmul' op expects operands of rank 2 or more; got: ", lhs,
                                   " and ", rhs);
  MatmulSizes sizes = sizesOf(lhs.getShape(), rhs.getShape(), op.getTransposeLhs(), op.getTransposeRhs());
  bool shared = lhs.getRank() == 2 || rhs.getRank() == 2;
  if (!shared && lhs.getShape().drop_back(2) != rhs.getShape().drop_back(2))
    return mlir::emitOptionalError(location, "'cleave.matmul' op expects equal batch dimensions; got: ", lhs, " and ",
                                   rhs);
  if (sizes.k != sizes.rhsK)
    return mlir::emitOptionalError(location,
                                   "'cleave.matmul' op expects the contracted dimensions to agree; got: ", sizes.k,
                                   " of lhs and ", sizes.rhsK, " of rhs");
  if (Value bias = op.getBias(); bias && tensorTypeOf(bias) != lhs.clone({sizes.n}))
    return mlir::emitOptionalError(location, "'cleave.matmul' op expects a bias of type ", lhs.clone({sizes.n}),
                                   ", one element for each column of the result; got: ", bias.getType());
  SmallVector<int64_t> shape(sizes.batch);
  shape.append({sizes.m, sizes.n});
  types.push_back(lhs.clone(shape));
  return mlir::success();
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

static Value matmul(ImplicitLocOpBuilder &builder, Value lhs, Value rhs, bool transposeLhs, bool transposeRhs) {
  return MatmulOp::create(builder, lhs, rhs, /*bias=*/Value(), transposeLhs, transposeRhs);
}

// Returns [batch..., rows, columns] as [batch * rows, columns]. With `transposed` it is stored [batch..., columns,
// rows].
static Value stackRows(ImplicitLocOpBuilder &builder, Value value, bool transposed) {
  int64_t rank = tensorTypeOf(value).getRank();
  if (transposed) {
    SmallVector<int64_t> permutation = range(0, rank);
    std::swap(permutation[rank - 1], permutation[rank - 2]);
    value = TransposeOp::create(builder, value, permutation);
  }
  auto type = tensorTypeOf(value);
  int64_t columns = type.getShape().back();
  return ReshapeOp::create(builder, type.clone({product(type.getShape().drop_back()), columns}), value);
}

// Returns the sum over batches of lhs^T rhs, transposed if wanted, as one product: batches are stacked along the
// contracted rows.
static Value stackedProduct(ImplicitLocOpBuilder &builder, Value lhs, bool lhsTransposed, Value rhs, bool rhsTransposed,
                            bool transposeResult) {
  Value a = stackRows(builder, lhs, lhsTransposed), b = stackRows(builder, rhs, rhsTransposed);
  return transposeResult ? matmul(builder, b, a, true, false) : matmul(builder, a, b, true, false);
}

// dA = dC op(B)^T, written so that the result has the layout of A.
static Value lhsGradient(ImplicitLocOpBuilder &builder, MatmulOp op, Value dc) {
  Value b = op.getRhs();
  if (isShared(op.getLhs(), b)) // sum over batch and n of dC[m, n] B[n, k]
    return stackedProduct(builder, dc, true, b, !op.getTransposeRhs(), op.getTransposeLhs());
  if (op.getTransposeLhs())
    return matmul(builder, b, dc, op.getTransposeRhs(), true);
  return matmul(builder, dc, b, false, !op.getTransposeRhs());
}

// dB = op(A)^T dC, written so that the result has the layout of B.
static Value rhsGradient(ImplicitLocOpBuilder &builder, MatmulOp op, Value dc) {
  Value a = op.getLhs();
  if (isShared(op.getRhs(), a)) // sum over batch and m of A[m, k] dC[m, n]
    return stackedProduct(builder, a, op.getTransposeLhs(), dc, false, op.getTransposeRhs());
  if (op.getTransposeRhs())
    return matmul(builder, dc, a, true, op.getTransposeLhs());
  return matmul(builder, a, dc, !op.getTransposeLhs(), false);
}

llvm::LogicalResult MatmulOp::buildVJP(mlir::OpBuilder &opBuilder, ArrayRef<Value> resultGrads,
                                       llvm::SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0])
    return mlir::success();
  ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  if (getBias()) // first, as if a separate op added it: buckets follow this order
    operandGrads[2] = reduceSum(builder, resultGrads[0], range(0, getType().getRank() - 1));
  operandGrads[0] = lhsGradient(builder, *this, resultGrads[0]);
  operandGrads[1] = rhsGradient(builder, *this, resultGrads[0]);
  return mlir::success();
}

//===----------------------------------------------------------------------===//
// Loops, cost, kernel
//===----------------------------------------------------------------------===//

// batch..., m, n, k
SmallVector<IteratorType> MatmulOp::getLoopIteratorTypes() {
  SmallVector<IteratorType> types(getType().getRank(), IteratorType::parallel);
  types.push_back(IteratorType::reduction);
  return types;
}

SmallVector<ReductionKind> MatmulOp::getReductionLoopIteratorKinds() { return {ReductionKind::Sum}; }

SmallVector<AffineMap> MatmulOp::getIndexingMaps() {
  int64_t batch = getType().getRank() - 2;
  int64_t m = batch, n = batch + 1, k = batch + 2;
  auto mapOf = [&](bool shared, int64_t row, int64_t column) {
    SmallVector<int64_t> loops = range(0, shared ? 0 : batch);
    loops.append({row, column});
    return loopMap(getContext(), batch + 3, loops);
  };
  bool tl = getTransposeLhs(), tr = getTransposeRhs();
  SmallVector<AffineMap> maps = {mapOf(isShared(getLhs(), getRhs()), tl ? k : m, tl ? m : k),
                                 mapOf(isShared(getRhs(), getLhs()), tr ? n : k, tr ? k : n)};
  if (getBias()) // it does not walk k: if ranks share the sum, it cannot have a bias
    maps.push_back(loopMap(getContext(), batch + 3, {n}));
  maps.push_back(mapOf(false, m, n));
  return maps;
}

OpCost MatmulOp::getCost() {
  MatmulSizes sizes = sizesOf(*this);
  int64_t elements = product(sizes.batch) * sizes.m * sizes.n;
  // In floating point: operands and a result of 2^46 elements each may need 2^70 flops. They are limited to 2^58.
  double flops = 2.0 * static_cast<double>(elements) * static_cast<double>(sizes.k);
  return costWithFlops(*this, static_cast<int64_t>(std::min(flops, 0x1p58)) + (getBias() ? elements : 0));
}

ComputeKind MatmulOp::getComputeKind() { return ComputeKind::Kernel; }

KernelSpec MatmulOp::getKernelSpec() {
  MatmulSizes sizes = sizesOf(*this);
  int64_t batch = product(sizes.batch);
  bool sharedLhs = isShared(getLhs(), getRhs()), sharedRhs = isShared(getRhs(), getLhs());
  // [batch, m, k] times one matrix is [batch * m, k]: one large product instead of many small ones.
  if (sharedRhs && !getTransposeLhs()) {
    sizes.m *= batch;
    batch = 1;
  }
  mlir::Type element = getType().getElementType();
  return {getBias() ? "matmul_bias" : "matmul",
          {{"batch", {batch}},
           {"batch_a", {sharedLhs ? 1 : batch}},
           {"batch_b", {sharedRhs ? 1 : batch}},
           {"m", {sizes.m}},
           {"n", {sizes.n}},
           {"k", {sizes.k}},
           {"transpose_a", {getTransposeLhs()}},
           {"transpose_b", {getTransposeRhs()}}},
          {{"dtype", element}, {"out_dtype", element}}};
}

//===----------------------------------------------------------------------===//
// Bias
//===----------------------------------------------------------------------===//

// Not every target has an f64 kernel with an epilogue. f64 is for tests.
Value MatmulOp::withBias(mlir::OpBuilder &builder, Value bias) {
  auto type = getType();
  if (getBias() || type.getElementType().isF64() || tensorTypeOf(bias) != type.clone({type.getShape().back()}))
    return {};
  return MatmulOp::create(builder, getLoc(), getLhs(), getRhs(), bias, getTransposeLhs(), getTransposeRhs());
}

bool MatmulOp::isDecomposable() { return getBias() != nullptr; }

SmallVector<Value> MatmulOp::decompose(mlir::OpBuilder &opBuilder, mlir::ValueRange operands) {
  ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  Value sum = widen(builder, matmul(builder, operands[0], operands[1], getTransposeLhs(), getTransposeRhs()));
  Value bias = widen(builder, operands[2]);
  bias = BroadcastOp::create(builder, sum.getType(), bias, range(getType().getRank() - 1, 1));
  return {castTo(builder, AddOp::create(builder, sum, bias), getType().getElementType())};
}

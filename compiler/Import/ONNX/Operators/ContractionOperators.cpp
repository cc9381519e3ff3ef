// Imports MatMul and Gemm. Transposes become flags of the product.
#include "compiler/Import/ONNX/Operators/Contraction.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using llvm::FailureOr;

// Multiplies [..., m, k] by [..., k, n] of integers, both with the same batch. The products [..., m, k, n] are added
// up, because products in libraries are only for floating point.
static FailureOr<Value> emitIntegerProduct(OpContext &op, Value a, Value b) {
  int64_t rank = rankOf(a);
  Shape all(shapeOf(a));
  all.push_back(shapeOf(b).back());
  if (auto count = countElements(all); !count || *count > int64_t(1) << 32)
    return op.fail("an integer product of " + formatShape(shapeOf(a)) + " by " + formatShape(shapeOf(b)) +
                   " is too large");
  Shape left(llvm::to_vector(llvm::seq<int64_t>(0, rank))), right = left;
  right[rank - 2] = rank - 1, right[rank - 1] = rank;
  Value products = op.emit.mul(op.emit.broadcastDims(a, all, left), op.emit.broadcastDims(b, all, right));
  return op.emit.reduce(ReduceKind::Sum, products, {rank - 1});
}

FailureOr<Value> cleave::onnx_import::emitMatMul(OpContext &op, Value a, Value b) {
  Emitter &emit = op.emit;
  bool isInteger = elementOf(a).isSignlessInteger(32) || elementOf(a).isSignlessInteger(64);
  if ((!isFloat(a) && !isInteger) || elementOf(a) != elementOf(b))
    return op.fail("expected two inputs of one type, floating-point or integers of 32 or 64 bits");
  if (rankOf(a) == 0 || rankOf(b) == 0)
    return op.fail("expected inputs of rank 1 or more");
  bool vectorA = rankOf(a) == 1, vectorB = rankOf(b) == 1;
  if (vectorA)
    a = emit.reshape(a, {1, shapeOf(a)[0]});
  if (vectorB)
    b = emit.reshape(b, {shapeOf(b)[0], 1});
  llvm::ArrayRef<int64_t> x = shapeOf(a), y = shapeOf(b);
  if (x.back() != y[y.size() - 2])
    return op.fail("cannot multiply " + formatShape(x) + " by " + formatShape(y) + ": " + llvm::Twine(x.back()) +
                   " columns meet " + llvm::Twine(y[y.size() - 2]) + " rows");
  auto batch = broadcastShapes(x.drop_back(2), y.drop_back(2));
  if (!batch)
    return op.fail("batch dimensions of " + formatShape(x) + " and " + formatShape(y) + " do not broadcast");
  // A matrix is shared by the whole batch of the other operand. Other operands are broadcast to the same batch.
  auto spread = [&](Value v) {
    Shape shape = *batch;
    shape.append({shapeOf(v)[rankOf(v) - 2], shapeOf(v).back()});
    return rankOf(v) == 2 && !isInteger ? v : emit.broadcastTo(v, shape);
  };
  FailureOr<Value> product =
      isInteger ? emitIntegerProduct(op, spread(a), spread(b)) : emit.matmul(spread(a), spread(b));
  if (failed(product))
    return failure();
  Shape shape = *batch;
  if (!vectorA)
    shape.push_back(x[x.size() - 2]);
  if (!vectorB)
    shape.push_back(y.back());
  return emit.reshape(*product, shape);
}

namespace {

LogicalResult importMatMul(OpContext &op) {
  auto product = emitMatMul(op, op.value(0), op.value(1));
  return failed(product) ? failure() : op.result(*product);
}

// Multiplies matrices of integers, whose product has no transpose flags.
FailureOr<Value> multiplyIntegers(OpContext &op, Value a, Value b, bool transA, bool transB) {
  auto turned = [&](Value x, bool isTurned) { return isTurned ? op.emit.transpose(x, {1, 0}) : x; };
  return emitMatMul(op, turned(a, transA), turned(b, transB));
}

// alpha * A' * B' + beta * C. In half precision, a scaled product is computed in f32. If the product were rounded
// before alpha scales it, it could exceed the type although the result does not. A scaled product of integers is
// computed in f64 and truncated, as in ONNX's reference.
LogicalResult importGemm(OpContext &op) {
  Emitter &emit = op.emit;
  double alpha = op.floatAttr("alpha", 1), beta = op.has(2) ? op.floatAttr("beta", 1) : 0;
  if (alpha != 1 || (beta != 0 && beta != 1))
    op.computeInF32();
  Value a = op.value(0), b = op.value(1);
  if (failed(op.expectRank(a, 2, 2)) || failed(op.expectRank(b, 2, 2)))
    return failure();
  bool transA = op.intAttr("transA", 0) != 0, transB = op.intAttr("transB", 0) != 0;
  int64_t inner = shapeOf(a)[transA ? 0 : 1], rows = shapeOf(b)[transB ? 1 : 0];
  if (inner != rows || elementOf(a) != elementOf(b))
    return op.fail("cannot multiply " + formatShape(shapeOf(a)) + " by " + formatShape(shapeOf(b)) +
                   " with transA=" + llvm::Twine(transA) + ", transB=" + llvm::Twine(transB));
  FailureOr<Value> product =
      isFloat(a) ? emit.matmul(a, b, transA, transB) : multiplyIntegers(op, a, b, transA, transB);
  if (failed(product))
    return failure();
  Value result = *product, c = op.value(2);
  if (c && broadcastShapes(shapeOf(result), shapeOf(c)) != Shape(shapeOf(result))) // also checked if beta is 0
    return op.fail("C of shape " + formatShape(shapeOf(c)) + " does not broadcast to " + formatShape(shapeOf(result)));
  bool isScaled = alpha != 1 || (beta != 0 && beta != 1), isTruncated = isScaled && !isFloat(a);
  auto widened = [&](Value x) { return isTruncated ? emit.cast(x, emit.builder.getF64Type()) : x; };
  result = widened(result);
  if (alpha != 1)
    result = emit.mul(result, alpha);
  if (beta != 0)
    result = emit.add(result, beta == 1 ? widened(c) : emit.mul(widened(c), beta));
  return op.result(isTruncated ? emit.cast(result, elementOf(a)) : result);
}

} // namespace

void cleave::onnx_import::addContractionOperators(OperatorTable &table) {
  table.add("MatMul", 13, importMatMul);
  table.add("Gemm", 13, importGemm);
}

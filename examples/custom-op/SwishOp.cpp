// What example.swish knows of itself. Its result type follows from SameOperandsAndResultType; the other four are here.
#include "Example.h"

#include "dialects/Cleave/IR/Elementwise.h"
#include "dialects/Cleave/IR/OpSupport.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using example::SwishOp;

// With s = sigmoid(beta x) and y = x s:  dy/dx = s + beta x s (1 - s) = s + beta y (1 - s).
LogicalResult SwishOp::buildVJP(OpBuilder &builder, ArrayRef<Value> resultGrads, SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0])
    return success();
  Location loc = getLoc();
  auto mul = [&](Value a, Value b) { return cleave::MulOp::create(builder, loc, a, b).getResult(); };
  Value x = getX(), y = getY(), beta = cleave::splat(builder, loc, x.getType(), getBeta().convertToDouble());
  Value s = cleave::SigmoidOp::create(builder, loc, mul(beta, x));
  Value rest = cleave::SubOp::create(builder, loc, cleave::splat(builder, loc, x.getType(), 1), s);
  Value slope = cleave::AddOp::create(builder, loc, s, mul(mul(beta, y), rest));
  operandGrads[0] = mul(resultGrads[0], slope);
  return success();
}

// Every dimension may be split, and the result is split as the operand is: parallel loops, identity maps.
SmallVector<utils::IteratorType> SwishOp::getLoopIteratorTypes() { return cleave::elementwiseLoops(*this); }
SmallVector<AffineMap> SwishOp::getIndexingMaps() { return cleave::elementwiseMaps(*this); }
SmallVector<shard::ReductionKind> SwishOp::getReductionLoopIteratorKinds() { return {}; }

// Multiply, exponential, add, divide for each element; the operand read and the result written once.
cleave::OpCost SwishOp::getCost() {
  cleave::OpCost cost = cleave::elementwiseCost(*this);
  cost.flops *= 4;
  return cost;
}

// A loop body, which is fused with its neighbours.
cleave::ComputeKind SwishOp::getComputeKind() { return cleave::ComputeKind::Fusible; }

SmallVector<Value> SwishOp::buildLinalg(OpBuilder &builder, ValueRange operands) {
  auto scalar = [&](OpBuilder &b, Location loc, ValueRange elements) -> Value {
    Value x = elements[0];
    auto number = [&](double value) {
      return arith::ConstantOp::create(b, loc, b.getFloatAttr(x.getType(), value)).getResult();
    };
    Value exponent = arith::MulFOp::create(b, loc, number(-getBeta().convertToDouble()), x);
    Value power = math::ExpOp::create(b, loc, exponent);
    return arith::DivFOp::create(b, loc, x, arith::AddFOp::create(b, loc, number(1), power));
  };
  return {cleave::elementwiseLinalg(*this, builder, operands, scalar)};
}

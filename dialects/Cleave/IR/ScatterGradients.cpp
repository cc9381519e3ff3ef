// Gradients of cleave.pick and cleave.put.
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/IR/Scatter.h"

using namespace cleave;
using llvm::ArrayRef;
using mlir::ImplicitLocOpBuilder;
using mlir::Value;

static ReduceKindAttr addition(mlir::Operation *op) { return ReduceKindAttr::get(op->getContext(), ReduceKind::Sum); }
static mlir::Type elementOf(Value value) { return tensorTypeOf(value).getElementType(); }
static bool isFloat(Value value) { return llvm::isa<mlir::FloatType>(elementOf(value)); }

// The gradient is a sum of slices, put into a table of zeros.
llvm::LogicalResult PickOp::buildVJP(mlir::OpBuilder &opBuilder, ArrayRef<Value> resultGrads,
                                     llvm::SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0] || !isFloat(getResult()))
    return mlir::success();
  ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  // In f32, as in every sum of narrow numbers.
  Value updates = widen(builder, resultGrads[0]);
  Value zeros = splat(builder, getLoc(), tensorTypeOf(getOperand()).clone(elementOf(updates)), 0.0);
  Value sum = PutOp::create(builder, zeros, getIndices(), updates, getDim(), getBatch(), addition(*this));
  operandGrads[0] = castTo(builder, sum, elementOf(getOperand()));
  return mlir::success();
}

//===----------------------------------------------------------------------===//
// PutOp
//===----------------------------------------------------------------------===//

namespace {
// Builds the values that the gradients of one put need. pick() gives values of the updates' shape, and put() values of
// the operand's.
class PutGradient {
public:
  PutGradient(ImplicitLocOpBuilder &builder, PutOp op, Value grad) : builder(builder), op(op), grad(grad) {}

  void ofSum(Value &operandGrad, Value &updatesGrad);
  void ofSet(Value &operandGrad, Value &updatesGrad);
  void ofExtremum(Value &operandGrad, Value &updatesGrad);
  void ofProduct(Value &operandGrad, Value &updatesGrad);

private:
  Value pick(Value table) { return PickOp::create(builder, table, op.getIndices(), op.getDim(), op.getBatch()); }
  Value put(Value table, Value updates, std::optional<ReduceKind> combine = std::nullopt) {
    auto kind = combine ? ReduceKindAttr::get(builder.getContext(), *combine) : ReduceKindAttr();
    return PutOp::create(builder, table, op.getIndices(), updates, op.getDim(), op.getBatch(), kind);
  }
  Value putAdd(Value table, Value updates) { return put(table, updates, ReduceKind::Sum); }
  Value equal(Value a, Value b) { return CompareOp::create(builder, Predicate::Eq, a, b); }
  Value zeroLike(Value value) { return splatLike(builder, value, 0.0); }
  Value onlyWhere(Value condition, Value value) {
    return SelectOp::create(builder, condition, value, zeroLike(value));
  }
  // Returns the factor of an element's gradient, if the element is the factor `own` of a product.
  Value withoutOwn(Value product, Value zeros, Value own);
  Value isLast();

  ImplicitLocOpBuilder &builder;
  PutOp op;
  Value grad;
};
} // namespace

// True for an update that is the last one of its index. The numbers of the updates are put in the same way, and each
// update checks whether its own number remained. Shape [batch..., indices...], repeated to that of the updates.
Value PutGradient::isLast() {
  auto indices = tensorTypeOf(op.getIndices());
  int64_t batch = op.getBatch(), dim = op.getDim(), rank = indices.getRank();
  mlir::Type i64 = builder.getI64Type();
  SmallVector<int64_t> flat(indices.getShape().take_front(batch)), table = flat;
  flat.push_back(product(indices.getShape().drop_front(batch)));
  table.push_back(shapeOf(op.getOperand())[dim]);
  Value number = IotaOp::create(builder, mlir::RankedTensorType::get(flat, i64), batch, Value());
  number = ReshapeOp::create(builder, indices.clone(i64), number);
  Value none = splat(builder, builder.getLoc(), mlir::RankedTensorType::get(table, i64), 0.0);
  Value stayed = PutOp::create(builder, none, op.getIndices(), number, batch, batch, ReduceKindAttr());
  stayed = PickOp::create(builder, stayed, op.getIndices(), batch, batch);
  SmallVector<int64_t> dims = range(0, batch);
  llvm::append_range(dims, range(dim, rank - batch));
  auto type = mlir::RankedTensorType::get(shapeOf(op.getUpdates()), builder.getI1Type());
  Value last = equal(stayed, number);
  return last.getType() == type ? last : BroadcastOp::create(builder, type, last, dims);
}

// Linear in operand and updates together.
void PutGradient::ofSum(Value &operandGrad, Value &updatesGrad) {
  operandGrad = grad;
  updatesGrad = pick(grad);
}

void PutGradient::ofSet(Value &operandGrad, Value &updatesGrad) {
  operandGrad = put(grad, splat(builder, builder.getLoc(), op.getUpdates().getType(), 0.0));
  updatesGrad = onlyWhere(isLast(), pick(grad));
}

// The gradient is split evenly among the elements that are equal to the result, as for cleave.reduce.
void PutGradient::ofExtremum(Value &operandGrad, Value &updatesGrad) {
  Value isOperand = equal(op.getOperand(), op.getResult()), isUpdate = equal(op.getUpdates(), pick(op.getResult()));
  mlir::Type element = elementOf(grad);
  Value winners = putAdd(castTo(builder, isOperand, element), castTo(builder, isUpdate, element));
  Value share = DivOp::create(builder, grad, winners);
  operandGrad = onlyWhere(isOperand, share);
  updatesGrad = onlyWhere(isUpdate, pick(share));
}

// `product` is the product of all factors except zeros, and `zeros` is the number of zeros.
Value PutGradient::withoutOwn(Value product, Value zeros, Value own) {
  Value isZero = equal(own, zeroLike(own));
  Value factor = SelectOp::create(builder, isZero, splatLike(builder, own, 1.0), own);
  Value others = SubOp::create(builder, zeros, castTo(builder, isZero, elementOf(own)));
  return onlyWhere(equal(others, zeroLike(others)), DivOp::create(builder, product, factor));
}

void PutGradient::ofProduct(Value &operandGrad, Value &updatesGrad) {
  Value x = widen(builder, op.getOperand()), u = widen(builder, op.getUpdates());
  auto isZero = [&](Value value) { return equal(value, zeroLike(value)); };
  auto factor = [&](Value value) {
    return SelectOp::create(builder, isZero(value), splatLike(builder, value, 1.0), value);
  };
  auto count = [&](Value value) { return castTo(builder, isZero(value), elementOf(value)); };
  Value product = put(factor(x), factor(u), ReduceKind::Product), zeros = putAdd(count(x), count(u));
  operandGrad = MulOp::create(builder, grad, withoutOwn(product, zeros, x));
  updatesGrad = MulOp::create(builder, pick(grad), withoutOwn(pick(product), pick(zeros), u));
}

llvm::LogicalResult PutOp::buildVJP(mlir::OpBuilder &opBuilder, ArrayRef<Value> resultGrads,
                                    llvm::SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0] || !isFloat(getResult()))
    return mlir::success();
  ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  mlir::Type element = elementOf(getResult());
  // Sums and replacements only move gradients, and round nothing. The others compute.
  auto combine = getCombine();
  bool moves = !combine || *combine == ReduceKind::Sum;
  PutGradient gradient(builder, *this, moves ? resultGrads[0] : widen(builder, resultGrads[0]));
  if (!combine)
    gradient.ofSet(operandGrads[0], operandGrads[2]);
  else if (*combine == ReduceKind::Sum)
    gradient.ofSum(operandGrads[0], operandGrads[2]);
  else if (*combine == ReduceKind::Product)
    gradient.ofProduct(operandGrads[0], operandGrads[2]);
  else
    gradient.ofExtremum(operandGrads[0], operandGrads[2]);
  for (unsigned i : {0, 2})
    operandGrads[i] = castTo(builder, operandGrads[i], element);
  return mlir::success();
}

#include "dialects/Cleave/Transforms/LoopWriter.h"

#include "dialects/Cleave/IR/OpSupport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace cleave;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::RankedTensorType;
using mlir::Value;
using mlir::ValueRange;
namespace arith = mlir::arith;
namespace tensor = mlir::tensor;

SmallVector<Value> LoopWriter::loop(ArrayRef<int64_t> sizes, ValueRange initial, Body body) {
  SmallVector<Value> lower, upper, step;
  for (int64_t size : sizes) {
    lower.push_back(constant(0));
    upper.push_back(constant(size));
    step.push_back(constant(1));
  }
  if (sizes.empty())
    return body({}, initial);
  auto nest = mlir::scf::buildLoopNest(
      builder, builder.getLoc(), lower, upper, step, initial,
      [&](mlir::OpBuilder &nested, mlir::Location, ValueRange ivs, ValueRange carried) -> mlir::scf::ValueVector {
        mlir::OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(nested.getInsertionBlock(), nested.getInsertionPoint());
        SmallVector<Value> values = body(ivs, carried);
        nested.setInsertionPointToEnd(nested.getInsertionBlock());
        return {values.begin(), values.end()};
      });
  return {nest.results.begin(), nest.results.end()};
}

SmallVector<Value> LoopWriter::onlyIf(Value condition, ValueRange carried,
                                    llvm::function_ref<SmallVector<Value>()> then) {
  auto branch = mlir::scf::IfOp::create(builder, carried.getTypes(), condition, /*withElseRegion=*/true);
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  mlir::scf::YieldOp::create(builder, then());
  builder.setInsertionPointToStart(branch.elseBlock());
  mlir::scf::YieldOp::create(builder, carried);
  return {branch.getResults().begin(), branch.getResults().end()};
}

Value LoopWriter::constant(int64_t value) { return arith::ConstantIndexOp::create(builder, value); }

Value LoopWriter::add(Value a, Value b) { return arith::AddIOp::create(builder, a, b); }

Value LoopWriter::scale(Value a, int64_t factor) { return arith::MulIOp::create(builder, a, constant(factor)); }

Value LoopWriter::both(Value a, Value b) { return arith::AndIOp::create(builder, a, b); }

Value LoopWriter::isTrue() { return arith::ConstantOp::create(builder, builder.getBoolAttr(true)); }

Value LoopWriter::inRange(Value index, int64_t size) {
  // As an unsigned number, a negative index is larger than any size.
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, index, constant(size));
}

Value LoopWriter::linear(ArrayRef<Value> indices, ArrayRef<int64_t> sizes) {
  Value position = constant(0);
  for (auto [index, size] : llvm::zip_equal(indices, sizes))
    position = add(scale(position, size), index);
  return position;
}

mlir::Type LoopWriter::wide(mlir::Type element) {
  bool narrow = llvm::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return narrow ? mlir::Float32Type::get(element.getContext()) : element;
}

Value LoopWriter::number(mlir::Type type, double value) {
  if (llvm::isa<mlir::FloatType>(type))
    return arith::ConstantOp::create(builder, builder.getFloatAttr(type, value));
  return arith::ConstantOp::create(builder, builder.getIntegerAttr(type, static_cast<int64_t>(value)));
}

static SmallVector<mlir::ReassociationIndices> oneGroup(int64_t rank) {
  if (rank == 0)
    return {};
  mlir::ReassociationIndices all;
  for (int64_t dim = 0; dim < rank; ++dim)
    all.push_back(dim);
  return {all};
}

Value LoopWriter::flatten(Value value) {
  RankedTensorType type = tensorTypeOf(value);
  if (type.getRank() == 1)
    return value;
  auto flat = type.clone({type.getNumElements()});
  if (type.getRank() == 0)
    return tensor::ExpandShapeOp::create(builder, flat, value, oneGroup(0));
  return tensor::CollapseShapeOp::create(builder, flat, value, oneGroup(type.getRank()));
}

Value LoopWriter::filled(int64_t count, Value value) {
  Value empty = tensor::EmptyOp::create(builder, ArrayRef<int64_t>{count}, value.getType());
  return mlir::linalg::FillOp::create(builder, value, empty).getResult(0);
}

Value LoopWriter::finish(Value flat, RankedTensorType type) {
  if (tensorTypeOf(flat).getElementType() != type.getElementType()) {
    int64_t count = tensorTypeOf(flat).getNumElements();
    Value rounded = tensor::EmptyOp::create(builder, ArrayRef<int64_t>{count}, type.getElementType());
    flat = loop({count}, rounded, [&](ValueRange i, ValueRange carried) -> SmallVector<Value> {
      return {store(load(flat, i[0]), carried[0], i[0])};
    })[0];
  }
  if (type.getRank() == 1)
    return flat;
  if (type.getRank() == 0)
    return tensor::CollapseShapeOp::create(builder, type, flat, oneGroup(0));
  return tensor::ExpandShapeOp::create(builder, type, flat, oneGroup(type.getRank()));
}

Value LoopWriter::load(Value flat, Value index) {
  Value value = tensor::ExtractOp::create(builder, flat, index);
  mlir::Type type = wide(value.getType());
  return type == value.getType() ? value : arith::ExtFOp::create(builder, type, value).getResult();
}

Value LoopWriter::store(Value value, Value flat, Value index) {
  mlir::Type element = tensorTypeOf(flat).getElementType();
  if (value.getType() != element)
    value = arith::TruncFOp::create(builder, element, value);
  return tensor::InsertOp::create(builder, value, flat, index);
}

Value LoopWriter::plus(Value a, Value b) {
  if (llvm::isa<mlir::FloatType>(a.getType()))
    return arith::AddFOp::create(builder, a, b);
  return arith::AddIOp::create(builder, a, b);
}

Value LoopWriter::times(Value a, Value b) {
  if (llvm::isa<mlir::FloatType>(a.getType()))
    return arith::MulFOp::create(builder, a, b);
  return arith::MulIOp::create(builder, a, b);
}

Value LoopWriter::greater(Value a, Value b) {
  if (llvm::isa<mlir::FloatType>(a.getType()))
    return arith::CmpFOp::create(builder, arith::CmpFPredicate::OGT, a, b);
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, a, b);
}

Value LoopWriter::larger(Value a, Value b) { return arith::MaximumFOp::create(builder, a, b); }

Value LoopWriter::addAt(Value flat, Value index, Value value) {
  return store(plus(load(flat, index), value), flat, index);
}

#include "compiler/Training/Arithmetic.h"

#include "dialects/Cleave/IR/OpSupport.h"

using namespace mlir;

namespace cleave {

Value Arithmetic::splat(RankedTensorType type, double value) { return cleave::splat(b, loc, type, value); }

Value Arithmetic::scale(Value x, double factor) { return factor == 1 ? x : mul(x, splat(tensorType(x), factor)); }
Value Arithmetic::shift(Value x, double term) { return term == 0 ? x : add(x, splat(tensorType(x), term)); }

Value Arithmetic::cast(Value x, Type elementType) {
  RankedTensorType type = tensorType(x);
  return type.getElementType() == elementType ? x : CastOp::create(b, loc, type.clone(elementType), x);
}

Value Arithmetic::spread(Value x, RankedTensorType type) {
  x = cast(x, type.getElementType());
  return type.getRank() == 0 ? x : BroadcastOp::create(b, loc, type, x, ArrayRef<int64_t>());
}

Value Arithmetic::reshape(Value x, ArrayRef<int64_t> shape) {
  RankedTensorType type = tensorType(x);
  return type.getShape() == shape ? x : ReshapeOp::create(b, loc, type.clone(shape), x);
}

Value Arithmetic::slice(Value x, int64_t start, int64_t size) {
  if (tensorType(x).getDimSize(0) == size)
    return x;
  return SliceOp::create(b, loc, x, ArrayRef<int64_t>{start}, ArrayRef<int64_t>{size}, ArrayRef<int64_t>{1});
}

Value Arithmetic::isBefore(int64_t end, RankedTensorType type) {
  type = type.clone(b.getI64Type());
  return compare(Predicate::Lt, IotaOp::create(b, loc, type, 0, Value()), splat(type, end));
}

Value Arithmetic::sum(Value x) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(x).getRank()));
  return dims.empty() ? x : ReduceOp::create(b, loc, ReduceKind::Sum, x, dims);
}

Value Arithmetic::sum(Value x, ArrayRef<int64_t> dims) { return ReduceOp::create(b, loc, ReduceKind::Sum, x, dims); }

Value Arithmetic::table(ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, b.getI64Type());
  return ConstantOp::create(b, loc, DenseElementsAttr::get(type, values));
}

Value Arithmetic::index(ArrayRef<int64_t> shape, int64_t dim) {
  return IotaOp::create(b, loc, RankedTensorType::get(shape, b.getI64Type()), dim, Value());
}

Value Arithmetic::along(Value x, int64_t dim, ArrayRef<int64_t> shape) {
  return BroadcastOp::create(b, loc, tensorType(x).clone(shape), x, ArrayRef<int64_t>{dim});
}

Type accumulationType(Type elementType) {
  return elementType.getIntOrFloatBitWidth() >= 32 ? elementType : Float32Type::get(elementType.getContext());
}

} // namespace cleave

// random_uniform and random_uniform_at: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
// as 1, 2, 3", 2011) in integer arithmetic. The counter is the element's index in the *whole* tensor, so splitting and
// fusing change nothing.
#include "dialects/Cleave/IR/Attention.h"
#include "dialects/Cleave/IR/Elementwise.h"
#include "dialects/Cleave/IR/Folding.h"
#include "dialects/Cleave/IR/Positional.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <array>
#include <cmath>

using namespace cleave;
using mlir::AffineMap;
using mlir::OpBuilder;
using mlir::Value;
namespace arith = mlir::arith;

mlir::LogicalResult RandomUniformOp::verify() {
  if (getSeed().getType().getRank() != 0 || getStep().getType().getRank() != 0)
    return emitOpError("seed and step are scalars; got: ") << getSeed().getType() << " and " << getStep().getType();
  auto type = getResult().getType();
  llvm::ArrayRef<int64_t> global = getGlobalShape();
  if (static_cast<int64_t>(global.size()) != type.getRank())
    return emitOpError("global_shape has one size for every result dimension; got: ")
           << global.size() << " sizes for " << type;
  for (auto [whole, part] : llvm::zip_equal(global, type.getShape()))
    if (getOrigin() ? part > whole : part != whole)
      return emitOpError("the result is the whole tensor, or with an origin a part of it; got: ")
             << type << " of global_shape " << getGlobalShapeAttr();
  return verifyOrigin(*this, getOrigin(), type);
}

llvm::SmallVector<mlir::utils::IteratorType> RandomUniformOp::getLoopIteratorTypes() {
  return elementwiseLoops(getOperation());
}
llvm::SmallVector<mlir::shard::ReductionKind> RandomUniformOp::getReductionLoopIteratorKinds() { return {}; }

llvm::SmallVector<AffineMap> RandomUniformOp::getIndexingMaps() {
  int64_t rank = getResult().getType().getRank();
  AffineMap scalar = AffineMap::get(rank, 0, getContext());
  llvm::SmallVector<AffineMap> maps = {scalar, scalar};
  if (getOrigin())
    maps.push_back(AffineMap::get(rank, 0, mlir::getAffineConstantExpr(0, getContext())));
  maps.push_back(AffineMap::getMultiDimIdentityMap(rank, getContext()));
  return maps;
}

ComputeKind RandomUniformOp::getComputeKind() { return ComputeKind::Fusible; }

// A part of a part begins at the sum of both origins.
Value RandomUniformOp::localize(OpBuilder &builder, mlir::RankedTensorType local, Value origin) {
  if (getOrigin())
    origin = AddOp::create(builder, getLoc(), getOrigin(), origin);
  return RandomUniformOp::create(builder, getLoc(), local, getSeed(), getStep(), origin, getSiteAttr(),
                                 getGlobalShapeAttr());
}

namespace {
// 32-bit words in i64, so that products need no instruction for the high word, and vectorize.
struct Words {
  OpBuilder &b;
  mlir::Location loc;
  Value number(int64_t value) { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)); }
  Value low(Value x) { return arith::AndIOp::create(b, loc, x, number(0xffffffff)); }
  Value high(Value x) { return arith::ShRUIOp::create(b, loc, x, number(32)); }
  Value product(Value x, int64_t y) { return arith::MulIOp::create(b, loc, x, number(y)); }
  Value sum(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value exclusiveOr(Value x, Value y) { return arith::XOrIOp::create(b, loc, x, y); }
};
} // namespace

static std::array<Value, 4> philox(Words &w, std::array<Value, 4> counter, Value key0, Value key1) {
  for (int round = 0; round < 10; ++round) {
    Value first = w.product(counter[0], 0xD2511F53), second = w.product(counter[2], 0xCD9E8D57);
    counter = {w.exclusiveOr(w.exclusiveOr(w.high(second), counter[1]), key0), w.low(second),
               w.exclusiveOr(w.exclusiveOr(w.high(first), counter[3]), key1), w.low(first)};
    key0 = w.low(w.sum(key0, w.number(0x9E3779B9)));
    key1 = w.low(w.sum(key1, w.number(0xBB67AE85)));
  }
  return counter;
}

// Returns the word of an element: one of the four words of its counter.
static Value drawWord(Words &w, Value index, Value step, Value site, Value seed) {
  Value group = arith::ShRUIOp::create(w.b, w.loc, index, w.number(2));
  std::array<Value, 4> words = philox(w, {w.low(group), w.high(group), step, site}, w.low(seed), w.high(seed));
  Value which = arith::AndIOp::create(w.b, w.loc, index, w.number(3)), word = words[3];
  for (int i : {2, 1, 0}) {
    Value here = arith::CmpIOp::create(w.b, w.loc, arith::CmpIPredicate::eq, which, w.number(i));
    word = arith::SelectOp::create(w.b, w.loc, here, words[i], word);
  }
  return word;
}

// Returns as many upper bits of a word as the type can hold, as a fraction in [0, 1).
static Value toFraction(Words &w, Value word, mlir::FloatType type) {
  unsigned bits = std::min(24u, type.getFPMantissaWidth());
  Value upper = arith::ShRUIOp::create(w.b, w.loc, word, w.number(32 - bits));
  mlir::FloatType wide = type.getWidth() < 32 ? w.b.getF32Type() : type;
  Value number = arith::SIToFPOp::create(w.b, w.loc, wide, upper);
  Value scale = arith::ConstantOp::create(w.b, w.loc, w.b.getFloatAttr(wide, std::ldexp(1.0, -static_cast<int>(bits))));
  Value fraction = arith::MulFOp::create(w.b, w.loc, number, scale);
  return wide == type ? fraction : arith::TruncFOp::create(w.b, w.loc, type, fraction).getResult();
}

// Returns the row-major index in the whole tensor. `origin` has the part's first index, one scalar for each dimension,
// or is empty.
static Value globalIndex(Words &w, llvm::ArrayRef<int64_t> globalShape, mlir::ValueRange origin) {
  Value index = w.number(0);
  for (auto [dim, stride] : llvm::enumerate(rowMajorStrides(globalShape))) {
    Value position = mlir::linalg::IndexOp::create(w.b, w.loc, dim);
    position = arith::IndexCastOp::create(w.b, w.loc, w.b.getI64Type(), position);
    if (!origin.empty())
      position = w.sum(position, origin[dim]);
    index = w.sum(index, w.product(position, stride));
  }
  return index;
}

llvm::SmallVector<Value> RandomUniformOp::buildLinalg(OpBuilder &builder, mlir::ValueRange operands) {
  auto type = getResult().getType();
  llvm::SmallVector<Value> inputs = {operands[0], operands[1]};
  if (getOrigin())
    llvm::append_range(inputs, originScalars(builder, getLoc(), operands[2]));
  llvm::SmallVector<AffineMap> maps(inputs.size(), AffineMap::get(type.getRank(), 0, getContext()));
  maps.push_back(AffineMap::getMultiDimIdentityMap(type.getRank(), getContext()));
  Value init = mlir::tensor::EmptyOp::create(builder, getLoc(), type.getShape(), type.getElementType());
  auto generic = mlir::linalg::GenericOp::create(
      builder, getLoc(), type, inputs, init, maps, getLoopIteratorTypes(),
      [&](OpBuilder &b, mlir::Location loc, mlir::ValueRange args) {
        Words w{b, loc};
        Value index = globalIndex(w, getGlobalShape(), args.slice(2, inputs.size() - 2));
        Value word =
            drawWord(w, index, w.low(args[1]), w.number(static_cast<int64_t>(getSite()) & 0xffffffff), args[0]);
        auto element = llvm::cast<mlir::FloatType>(type.getElementType());
        mlir::linalg::YieldOp::create(b, loc, toFraction(w, word, element));
      });
  return {generic.getResult(0)};
}

//===----------------------------------------------------------------------===//
// random_uniform_at
//===----------------------------------------------------------------------===//

mlir::LogicalResult RandomUniformAtOp::verify() {
  if (getSeed().getType().getRank() != 0 || getStream().getType().getRank() != 0)
    return emitOpError("seed and stream are scalars; got: ") << getSeed().getType() << " and " << getStream().getType();
  if (getIndex().getType().getShape() != getResult().getType().getShape())
    return emitOpError("index has the result's shape; got: ")
           << getIndex().getType() << " for " << getResult().getType();
  return mlir::success();
}

llvm::SmallVector<mlir::utils::IteratorType> RandomUniformAtOp::getLoopIteratorTypes() {
  return elementwiseLoops(getOperation());
}
llvm::SmallVector<mlir::shard::ReductionKind> RandomUniformAtOp::getReductionLoopIteratorKinds() { return {}; }

llvm::SmallVector<AffineMap> RandomUniformAtOp::getIndexingMaps() {
  int64_t rank = getResult().getType().getRank();
  AffineMap scalar = AffineMap::get(rank, 0, getContext());
  AffineMap identity = AffineMap::getMultiDimIdentityMap(rank, getContext());
  return {scalar, scalar, identity, identity};
}

ComputeKind RandomUniformAtOp::getComputeKind() { return ComputeKind::Fusible; }

llvm::SmallVector<Value> RandomUniformAtOp::buildLinalg(OpBuilder &builder, mlir::ValueRange operands) {
  auto type = getResult().getType();
  Value init = mlir::tensor::EmptyOp::create(builder, getLoc(), type.getShape(), type.getElementType());
  auto generic = mlir::linalg::GenericOp::create(
      builder, getLoc(), type, operands, init, getIndexingMaps(), getLoopIteratorTypes(),
      [&](OpBuilder &b, mlir::Location loc, mlir::ValueRange args) {
        Words w{b, loc};
        Value word = drawWord(w, args[2], w.low(args[1]), w.high(args[1]), args[0]);
        auto element = llvm::cast<mlir::FloatType>(type.getElementType());
        mlir::linalg::YieldOp::create(b, loc, toFraction(w, word, element));
      });
  return {generic.getResult(0)};
}

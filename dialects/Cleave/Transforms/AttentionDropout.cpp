#include "dialects/Cleave/Transforms/AttentionDropout.h"

#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attention.h"
#include "dialects/Cleave/IR/Folding.h"
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/Transforms/AttentionMasks.h"

#include <cmath>

using namespace cleave;
using mlir::ImplicitLocOpBuilder;
using mlir::RankedTensorType;
using mlir::Value;

//===----------------------------------------------------------------------===//
// Finding it
//===----------------------------------------------------------------------===//

// True if the probabilities are multiplied by 1 / (1 - rate), as exactly as their type and a rate in f32 allow.
static bool isFactorOf(double rate, double factor, Value value) {
  auto type = llvm::cast<mlir::FloatType>(tensorTypeOf(value).getElementType());
  double precision = std::ldexp(1.0, 1 - static_cast<int>(std::min(type.getFPMantissaWidth(), 24u)));
  return std::abs(factor * (1 - rate) - 1) <= precision + 0x1p-25 / (1 - rate);
}

std::optional<AttentionDropout> AttentionDropout::find(Value value) {
  auto select = value.getDefiningOp<SelectOp>();
  if (!select || !value.hasOneUse() || splatNumber(select.getOnFalse()) != 0.0 || !select.getOnTrue().hasOneUse())
    return std::nullopt;
  auto scaled = select.getOnTrue().getDefiningOp<MulOp>();
  auto compare = select.getCondition().getDefiningOp<CompareOp>();
  if (!scaled || !compare || compare.getPredicate() != Predicate::Ge)
    return std::nullopt;
  std::optional<double> rate = splatNumber(compare.getRhs());
  Value numbers = throughReshapes(compare.getLhs()); // for other micro-batches (shift-random-origins)
  auto uniform = numbers.getDefiningOp<RandomUniformOp>();
  if (!rate || !uniform || !(*rate > 0 && *rate < 1) || !tensorTypeOf(numbers).getElementType().isF32())
    return std::nullopt;
  for (auto [factor, other] :
       {std::pair(scaled.getLhs(), scaled.getRhs()), std::pair(scaled.getRhs(), scaled.getLhs())})
    if (std::optional<double> number = splatNumber(factor); number && isFactorOf(*rate, *number, other))
      return AttentionDropout{other, uniform, *rate};
  return std::nullopt;
}

// Row-major order says where an element is. The last dimensions, whose product is `count`, must be whole in the global
// tensor, except for the first of them.
//
//   8x4x16x16 of 8x12x16x16, heads of 16x16   2
//   4x16x16 of 12x16x16, heads of 16x16       1
//   4x16x8 of 4x16x16, heads of 16x8          nothing: a row of the whole tensor has 16 columns
std::optional<int64_t> AttentionDropout::leadingDims(int64_t count) const {
  RandomUniformOp draw = uniform;
  llvm::ArrayRef<int64_t> shape = draw.getType().getShape(), whole = draw.getGlobalShape();
  int64_t dim = static_cast<int64_t>(shape.size()), elements = 1;
  while (elements < count && dim > 0)
    elements *= shape[static_cast<size_t>(--dim)];
  size_t inner = static_cast<size_t>(dim) + 1;
  bool isWhole = inner >= shape.size() || shape.drop_front(inner) == whole.drop_front(inner);
  return elements == count && isWhole ? std::optional(dim) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// The operands
//===----------------------------------------------------------------------===//

static Value integers(ImplicitLocOpBuilder &builder, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get(shape, builder.getI64Type());
  return ConstantOp::create(builder, mlir::DenseElementsAttr::get(type, values));
}

// The step is in the lower 32 bits, and the site in the upper ones: the third and fourth counter word of
// random_uniform.
static Value buildStream(ImplicitLocOpBuilder &builder, RandomUniformOp uniform) {
  Value step = AndOp::create(builder, uniform.getStep(), integers(builder, {}, {0xffffffff}));
  auto site = static_cast<int64_t>(static_cast<uint64_t>(uniform.getSite()) << 32);
  return OrOp::create(builder, step, integers(builder, {}, {site}));
}

// Builds the element index at which each head begins: the sum of each leading dimension's index times its stride in the
// whole tensor. The indices are iotas, which know where a rank's part begins. The origin of the numbers' own part is
// added once.
AttentionDropout::Operands AttentionDropout::build(ImplicitLocOpBuilder &builder, int64_t batch, int64_t heads) const {
  RandomUniformOp draw = uniform;
  RankedTensorType numbers = draw.getType();
  SmallVector<int64_t> strides = rowMajorStrides(draw.getGlobalShape());
  int64_t leading = *leadingDims(numbers.getNumElements() / (batch * heads));
  llvm::ArrayRef<int64_t> shape = numbers.getShape().take_front(leading);
  auto type = RankedTensorType::get(shape, builder.getI64Type());
  Value first = splat(builder, builder.getLoc(), type, 0);
  for (int64_t dim = 0; dim < leading; ++dim) {
    if (shape[dim] == 1)
      continue;
    Value index = IotaOp::create(builder, type, builder.getI64IntegerAttr(dim), Value());
    index = MulOp::create(builder, index, splatLike(builder, index, static_cast<double>(strides[dim])));
    first = AddOp::create(builder, first, index);
  }
  if (Value origin = draw.getOrigin()) {
    Value parts = MulOp::create(builder, origin, integers(builder, {numbers.getRank()}, strides));
    Value offset = reduceSum(builder, parts, {0});
    if (leading > 0)
      offset = BroadcastOp::create(builder, type, offset, llvm::ArrayRef<int64_t>{});
    first = AddOp::create(builder, first, offset);
  }
  auto ofHeads = type.clone({batch, heads});
  if (first.getType() != ofHeads)
    first = ReshapeOp::create(builder, ofHeads, first);
  return {draw.getSeed(), buildStream(builder, draw), first};
}

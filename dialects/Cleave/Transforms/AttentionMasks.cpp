#include "dialects/Cleave/Transforms/AttentionMasks.h"

#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/IR/Triangle.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"

#include <cmath>
#include <functional>

using namespace cleave;
using mlir::ImplicitLocOpBuilder;
using mlir::RankedTensorType;
using mlir::Value;

std::optional<double> cleave::splatNumber(Value value) {
  mlir::DenseElementsAttr constant;
  if (!mlir::matchPattern(value, mlir::m_Constant(&constant)) || !constant.isSplat() ||
      !llvm::isa<mlir::FloatType>(constant.getElementType()))
    return std::nullopt;
  return constant.getSplatValue<llvm::APFloat>().convertToDouble();
}

//===----------------------------------------------------------------------===//
// Causal masks
//===----------------------------------------------------------------------===//

// Returns a mask as [rows, columns], before it is repeated over batch and heads; null if it differs between these.
static Value matrixOf(Value mask) {
  // Reshapes and broadcasts of the dimensions before the last two take whole matrices. There may be several, such as
  // [rows, columns] -> [batch, 1, rows, columns] -> [batch, rows, columns] -> [batch, heads, rows, columns].
  auto keepsMatrix = [](Value operand, Value result) {
    llvm::ArrayRef<int64_t> from = shapeOf(operand), to = shapeOf(result);
    return from.size() >= 2 && from.take_back(2) == to.take_back(2);
  };
  for (;;) {
    mask = throughReshapes(mask, keepsMatrix);
    auto broadcast = mask.getDefiningOp<BroadcastOp>();
    int64_t rank = tensorTypeOf(mask).getRank();
    if (!broadcast || broadcast.getDims().take_back(2) != llvm::ArrayRef<int64_t>({rank - 2, rank - 1}))
      break;
    mask = broadcast.getOperand();
  }
  return product(shapeOf(mask).drop_back(2)) == 1 ? mask : Value();
}

// Returns the dimension whose index each element is, counted from the last one: 0 for columns, 1 for rows.
static std::optional<int64_t> indexOf(Value value) {
  int64_t rank = tensorTypeOf(value).getRank();
  if (auto cast = value.getDefiningOp<CastOp>())
    return llvm::isa<mlir::IntegerType>(tensorTypeOf(cast.getOperand()).getElementType()) ? indexOf(cast.getOperand())
                                                                                          : std::nullopt;
  if (auto iota = value.getDefiningOp<IotaOp>(); iota && !iota.getOrigin())
    return rank - 1 - static_cast<int64_t>(iota.getDim());
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    auto iota = broadcast.getOperand().getDefiningOp<IotaOp>();
    if (iota && !iota.getOrigin() && iota.getType().getRank() == 1)
      return rank - 1 - broadcast.getDims()[0];
  }
  return std::nullopt;
}

// A triangle of two numbers that are compared with a third number is a triangle of booleans.
static mlir::Attribute comparedTriangle(Predicate predicate, mlir::Attribute triangle, double number) {
  auto numbers = llvm::dyn_cast_if_present<mlir::DenseF64ArrayAttr>(triangle);
  if (!numbers)
    return {};
  auto holds = [&](double a) {
    switch (predicate) {
    case Predicate::Eq:
      return a == number;
    case Predicate::Ne:
      return a != number;
    case Predicate::Lt:
      return a < number;
    case Predicate::Le:
      return a <= number;
    case Predicate::Gt:
      return a > number;
    case Predicate::Ge:
      return a >= number;
    }
    return false;
  };
  bool lower = holds(numbers[0]), upper = holds(numbers[1]);
  return lower == upper ? mlir::Attribute() : mlir::BoolAttr::get(triangle.getContext(), lower);
}

static mlir::Attribute triangleUnder(Value mask);

namespace {
// The numbers of a matrix up to the diagonal, and after it.
struct Sides {
  double lower, upper;
};
} // namespace

// Returns the sides of a triangle or of a constant number; nothing if only a bound of them is known.
static std::optional<Sides> sidesOf(Value value) {
  if (std::optional<double> number = splatNumber(value))
    return Sides{*number, *number};
  mlir::Attribute triangle = triangleUnder(value);
  if (auto holds = llvm::dyn_cast_if_present<mlir::BoolAttr>(triangle))
    return Sides{holds.getValue() ? 1. : 0., holds.getValue() ? 0. : 1.};
  if (auto numbers = llvm::dyn_cast_if_present<mlir::DenseF64ArrayAttr>(triangle))
    return Sides{numbers[0], numbers[1]};
  return std::nullopt;
}

// Returns the sides that an elementwise op makes of triangles, in f32, as exporters write masks (torch.tril of ones,
// 1 - m, m * -1e9).
static std::optional<Sides> madeSides(mlir::Operation *op) {
  auto all = [&](auto function, auto... operands) -> std::optional<Sides> {
    if (!(operands && ...))
      return std::nullopt;
    return Sides{static_cast<float>(function(operands->lower...)), static_cast<float>(function(operands->upper...))};
  };
  if (!op || !tensorTypeOf(op->getResult(0)).getElementType().isF32())
    return std::nullopt;
  if (auto select = llvm::dyn_cast<SelectOp>(op))
    return all([](double condition, double yes, double no) { return condition != 0 ? yes : no; },
               sidesOf(select.getCondition()), sidesOf(select.getOnTrue()), sidesOf(select.getOnFalse()));
  if (auto cast = llvm::dyn_cast<CastOp>(op))
    return all([](double number) { return number; }, sidesOf(cast.getOperand()));
  if (auto sub = llvm::dyn_cast<SubOp>(op))
    return all(std::minus<>(), sidesOf(sub.getLhs()), sidesOf(sub.getRhs()));
  if (auto mul = llvm::dyn_cast<MulOp>(op))
    return all(std::multiplies<>(), sidesOf(mul.getLhs()), sidesOf(mul.getRhs()));
  return std::nullopt;
}

// Returns the triangle that the matrix of a mask is (Triangle.h); null if it is none.
static mlir::Attribute triangleUnder(Value mask) {
  Value matrix = matrixOf(mask);
  if (!matrix)
    return {};
  mlir::DenseElementsAttr constant;
  if (mlir::matchPattern(matrix, mlir::m_Constant(&constant))) {
    bool isFloat = llvm::isa<mlir::FloatType>(constant.getElementType());
    return triangleOf(tensorTypeOf(matrix), [&](int64_t at) {
      return isFloat ? constant.getValues<llvm::APFloat>()[at].convertToDouble()
                     : constant.getValues<llvm::APInt>()[at].getBoolValue();
    });
  }
  if (auto read = matrix.getDefiningOp<ReadOp>()) {
    auto state = mlir::SymbolTable::lookupNearestSymbolFrom<StateOp>(read, read.getStateAttr());
    return state && state.getRole() == Role::Constant ? state->getAttr(kTriangleAttr) : mlir::Attribute();
  }
  mlir::Builder builder(mask.getContext());
  if (std::optional<Sides> sides = madeSides(matrix.getDefiningOp())) {
    if (sides->lower == 0 && leavesNothing(sides->upper))
      return builder.getF64FloatAttr(sides->upper);
    return builder.getDenseF64ArrayAttr({sides->lower, sides->upper});
  }
  auto compare = matrix.getDefiningOp<CompareOp>();
  if (std::optional<double> number = compare ? splatNumber(compare.getRhs()) : std::nullopt)
    return comparedTriangle(compare.getPredicate(), triangleUnder(compare.getLhs()), *number);
  std::optional<int64_t> lhs = compare ? indexOf(compare.getLhs()) : std::nullopt;
  std::optional<int64_t> rhs = compare ? indexOf(compare.getRhs()) : std::nullopt;
  if (!lhs || !rhs || *lhs + *rhs != 1)
    return {};
  bool rowFirst = *lhs == 1;
  Predicate predicate = compare.getPredicate();
  if (predicate == (rowFirst ? Predicate::Ge : Predicate::Le))
    return builder.getBoolAttr(true);
  if (predicate == (rowFirst ? Predicate::Lt : Predicate::Gt))
    return builder.getBoolAttr(false);
  return {};
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

// A learned mask needs the gradients of all scores.
static bool dependsOnParameter(Value mask) {
  SmallVector<Value> stack = {mask};
  llvm::DenseSet<Value> seen;
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    mlir::Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    if (auto read = llvm::dyn_cast<ReadOp>(op)) {
      auto state = mlir::SymbolTable::lookupNearestSymbolFrom<StateOp>(read, read.getStateAttr());
      if (!state || (state.getRole() == Role::Parameter && !state.getFrozen()))
        return true;
    }
    llvm::append_range(stack, op->getOperands());
  }
  return false;
}

std::optional<AttentionMask> AttentionMasks::classify(llvm::ArrayRef<int64_t> scores) const {
  AttentionMask mask;
  size_t others = added.size() + kept.size() - 1;
  // A row has at least its own column. The numbers that the mask gives the other columns are negligible against it,
  // unless another mask removes the own column, so that all scores are masked.
  auto isInfinite = [](double fill) { return std::isinf(fill) && fill < 0; };
  auto isWithout = [&](double fill) { return isInfinite(fill) || (leavesNothing(fill) && others == 0); };
  int causal = -1, finite = -1; // places of the outermost causal mask and select of a finite number
  for (const Kept &each : kept) {
    auto triangle = llvm::dyn_cast_if_present<mlir::BoolAttr>(triangleUnder(each.condition));
    if (isWithout(each.fill) && triangle && triangle.getValue() == each.keeps) {
      causal = std::max(causal, each.place);
      continue;
    }
    if (mask.fill && *mask.fill != each.fill)
      return std::nullopt;
    if (!isInfinite(each.fill))
      finite = std::max(finite, each.place);
    mask.fill = each.fill;
    mask.parts.push_back({each.condition, each.keeps});
  }
  for (const Added &each : added) {
    auto fill = llvm::dyn_cast_if_present<mlir::FloatAttr>(triangleUnder(each.value));
    if (fill && isWithout(fill.getValueAsDouble())) {
      causal = std::max(causal, each.place);
      continue;
    }
    if (mask.fill)
      return std::nullopt;
    mask.parts.push_back({each.value, true});
  }
  mask.isCausal = causal >= 0;
  if (mask.isCausal && finite > causal)
    return std::nullopt;
  for (const AttentionMask::Part &part : mask.parts)
    if (shapeOf(part.value) != scores || dependsOnParameter(part.value))
      return std::nullopt;
  return mask;
}

//===----------------------------------------------------------------------===//
// The operand
//===----------------------------------------------------------------------===//

// Returns the mask in rank 4, with size 1 in dimensions in which it is repeated.
static Value small(ImplicitLocOpBuilder &builder, Value mask) {
  RankedTensorType type = tensorTypeOf(mask);
  int64_t rank = type.getRank();
  SmallVector<int64_t> shape(4, 1);
  auto place = [&](int64_t dim) { return dim >= rank - 2 ? dim + 4 - rank : dim; };
  auto broadcast = mask.getDefiningOp<BroadcastOp>();
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!broadcast || llvm::is_contained(broadcast.getDims(), dim))
      shape[place(dim)] = type.getDimSize(dim);
  Value operand = broadcast ? broadcast.getOperand() : mask;
  if (shapeOf(operand) == llvm::ArrayRef(shape))
    return operand;
  return ReshapeOp::create(builder, type.clone(shape), operand);
}

static Value spread(ImplicitLocOpBuilder &builder, Value mask, llvm::ArrayRef<int64_t> shape) {
  SmallVector<int64_t> kept, sizes;
  for (auto [dim, size] : llvm::enumerate(shapeOf(mask)))
    if (size == shape[dim]) {
      kept.push_back(dim);
      sizes.push_back(size);
    }
  RankedTensorType type = tensorTypeOf(mask);
  if (kept.size() == shape.size())
    return mask;
  return BroadcastOp::create(builder, type.clone(shape), ReshapeOp::create(builder, type.clone(sizes), mask), kept);
}

Value AttentionMask::build(ImplicitLocOpBuilder &builder, mlir::Type computed) const {
  Value joined;
  for (const Part &part : parts) {
    Value mask = small(builder, part.value);
    if (!fill)
      mask = castTo(builder, mask, computed);
    else if (!part.keeps)
      mask = XorOp::create(builder, mask, splatLike(builder, mask, 1));
    if (!joined) {
      joined = mask;
      continue;
    }
    SmallVector<int64_t> shape;
    for (auto [a, b] : llvm::zip_equal(shapeOf(joined), shapeOf(mask)))
      shape.push_back(std::max(a, b));
    Value left = spread(builder, joined, shape), right = spread(builder, mask, shape);
    joined = fill ? Value(AndOp::create(builder, left, right)) : Value(AddOp::create(builder, left, right));
  }
  return joined;
}

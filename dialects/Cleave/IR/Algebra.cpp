#include "dialects/Cleave/IR/Algebra.h"

#include "dialects/Cleave/IR/Attention.h"
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/IR/Scatter.h"

#include "mlir/IR/Matchers.h"

using namespace cleave;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;

#include "dialects/Cleave/IR/CleaveAlgebra.cpp.inc"

using LinearOperands = SmallVector<LinearOperand, 2>;
using NumberBounds = SmallVector<NumberBound, 2>;

static int64_t countOf(Value value) { return tensorTypeOf(value).getNumElements(); }

static bool isZero(Value value) { return getConstantNumber(value) == 0.0; }

static bool isNumber(mlir::Type type) {
  return llvm::isa<mlir::FloatType>(type) || (llvm::isa<mlir::IntegerType>(type) && !type.isInteger(1));
}

// True if a cast keeps the value of every number, apart from rounding. A cast to integers cuts off fractions; a cast to
// truth values changes all numbers but 0 and 1. An integer must fit: 32 bits hold all counts of a batch.
static bool castKeepsNumbers(mlir::Type from, mlir::Type to) {
  constexpr unsigned kCountBits = 32;
  auto given = llvm::dyn_cast<mlir::IntegerType>(from), wanted = llvm::dyn_cast<mlir::IntegerType>(to);
  if (!wanted || from == to)
    return true;
  if (!given || wanted.getWidth() == 1)
    return false;
  return wanted.getWidth() >= kCountBits || wanted.getWidth() > given.getWidth();
}

Value cleave::pullBackInShape(Operation *op, mlir::OpBuilder &builder, mlir::Location loc, Value onResult,
                              unsigned number) {
  RankedTensorType type = tensorTypeOf(onResult).clone(tensorTypeOf(op->getOperand(number)).getShape());
  return type == onResult.getType() ? onResult : Value(ReshapeOp::create(builder, loc, type, onResult));
}

// The answers of the ops. Each says how the result depends on one operand while the others stay as they are:
//
//   sub(a, b)            a: factor 1             b: factor -1
//   mul(a, b)            a: scale b              b: scale a
//   div(a, b)            a: scale b, divides     (not linear in b)
//   select(c, a, 0)      a: condition c          select(c, 0, b): b, if c is false
//   reduce sum(a)        a: sums
//   max(a, b)            no linear operand, but two bounds: b, at least a; and a, at least b
//
// So the factor of m in the numerator of div(reduce_sum(mul(q, m)), n) is found by three steps: q, a sum, and 1 / n.
namespace {

// Each element of the result is an element of the operand, at another place.
template <typename Op, bool isCarried> struct Moves : AlgebraOpInterface::ExternalModel<Moves<Op, isCarried>, Op> {
  LinearOperands getLinearOperands(Operation *op) const {
    LinearOperand linear;
    linear.usesEachOnce = countOf(op->getOperand(0)) == countOf(op->getResult(0));
    return {linear};
  }
  Value getCarriedOperand(Operation *op) const { return isCarried ? op->getOperand(0) : Value(); }
};

struct Negates : AlgebraOpInterface::ExternalModel<Negates, NegOp> {
  LinearOperands getLinearOperands(Operation *) const {
    LinearOperand linear;
    linear.factor = -1;
    return {linear};
  }
};

// A truth value has no sum.
struct Casts : AlgebraOpInterface::ExternalModel<Casts, CastOp> {
  LinearOperands getLinearOperands(Operation *op) const {
    mlir::Type from = tensorTypeOf(op->getOperand(0)).getElementType(),
               to = tensorTypeOf(op->getResult(0)).getElementType();
    return isNumber(from) && castKeepsNumbers(from, to) ? LinearOperands{LinearOperand()} : LinearOperands();
  }
  Value getCarriedOperand(Operation *op) const { return op->getOperand(0); }
};

struct Checks : AlgebraOpInterface::ExternalModel<Checks, CheckIndexOp> {
  Value getCarriedOperand(Operation *op) const { return op->getOperand(0); }
};

struct Transposes : AlgebraOpInterface::ExternalModel<Transposes, TransposeOp> {
  LinearOperands getLinearOperands(Operation *) const { return {LinearOperand()}; }
  Value pullBack(Operation *op, mlir::OpBuilder &builder, mlir::Location loc, Value onResult, unsigned,
                 ArrayRef<int64_t>) const {
    ArrayRef<int64_t> permutation = llvm::cast<TransposeOp>(op).getPermutation();
    SmallVector<int64_t> inverse(permutation.size());
    for (auto [i, dim] : llvm::enumerate(permutation))
      inverse[static_cast<size_t>(dim)] = static_cast<int64_t>(i);
    return TransposeOp::create(builder, loc, onResult, inverse);
  }
};

template <typename Op, int sign> struct Adds : AlgebraOpInterface::ExternalModel<Adds<Op, sign>, Op> {
  LinearOperands getLinearOperands(Operation *) const {
    LinearOperand left, right;
    right.number = 1;
    right.factor = sign;
    return {left, right};
  }
  bool addsOperands(Operation *) const { return true; }
  NumberBounds getNumberBounds(Operation *op) const {
    Value a = op->getOperand(0), b = op->getOperand(1);
    return sign > 0 ? NumberBounds{{NumberBound::Plus, b, a}, {NumberBound::Plus, a, b}} : NumberBounds();
  }
};

struct Multiplies : AlgebraOpInterface::ExternalModel<Multiplies, MulOp> {
  LinearOperands getLinearOperands(Operation *op) const {
    LinearOperand left, right;
    left.scale = op->getOperand(1);
    right.number = 1;
    right.scale = op->getOperand(0);
    return {left, right};
  }
};

struct Divides : AlgebraOpInterface::ExternalModel<Divides, DivOp> {
  LinearOperands getLinearOperands(Operation *op) const {
    if (!llvm::isa<mlir::FloatType>(tensorTypeOf(op->getResult(0)).getElementType()))
      return {}; // quotients of whole numbers are cut off
    LinearOperand linear;
    linear.scale = op->getOperand(1);
    linear.divides = true;
    return {linear};
  }
};

struct Bounds : AlgebraOpInterface::ExternalModel<Bounds, MaxOp> {
  NumberBounds getNumberBounds(Operation *op) const {
    Value a = op->getOperand(0), b = op->getOperand(1);
    return {{NumberBound::AtLeast, b, a}, {NumberBound::AtLeast, a, b}};
  }
};

struct Compares : AlgebraOpInterface::ExternalModel<Compares, CompareOp> {
  std::optional<ComparedValues> getComparison(Operation *op) const {
    auto compare = llvm::cast<CompareOp>(op);
    return ComparedValues{compare.getPredicate(), compare.getLhs(), compare.getRhs()};
  }
};

struct Selects : AlgebraOpInterface::ExternalModel<Selects, SelectOp> {
  LinearOperands getLinearOperands(Operation *op) const {
    LinearOperands result;
    for (unsigned number : {1u, 2u})
      if (isZero(op->getOperand(3 - number))) {
        LinearOperand linear;
        linear.number = number;
        linear.condition = op->getOperand(0);
        linear.isWhere = number == 1;
        result.push_back(linear);
      }
    return result;
  }
  // select(a < b, c, a) is a if a is not below b. The compared value may be a in another type or shape.
  NumberBounds getNumberBounds(Operation *op) const {
    std::optional<ComparedValues> compare = comparisonOf(op->getOperand(0).getDefiningOp());
    NumberBounds result;
    if (!compare)
      return result;
    for (unsigned number : {1u, 2u}) {
      Value inner = op->getOperand(number), other = op->getOperand(3 - number);
      bool isLeft = throughViews(compare->lhs) == throughViews(inner);
      if (!isLeft && throughViews(compare->rhs) != throughViews(inner))
        continue;
      Predicate predicate = isLeft ? compare->predicate : exchanged(compare->predicate);
      result.push_back({NumberBound::Where, inner, isLeft ? compare->rhs : compare->lhs,
                        number == 1 ? opposite(predicate) : predicate, other});
    }
    return result;
  }
  SmallVector<Value, 2> getChoices(Operation *op) const { return {op->getOperand(1), op->getOperand(2)}; }
};

struct LogProbabilities : AlgebraOpInterface::ExternalModel<LogProbabilities, LogSoftmaxOp> {
  std::optional<int64_t> getLogProbabilityDim(Operation *op) const {
    return static_cast<int64_t>(llvm::cast<LogSoftmaxOp>(op).getDim());
  }
};

struct Sums : AlgebraOpInterface::ExternalModel<Sums, ReduceOp> {
  LinearOperands getLinearOperands(Operation *op) const {
    if (llvm::cast<ReduceOp>(op).getKind() != ReduceKind::Sum)
      return {};
    LinearOperand linear;
    linear.sums = true;
    return {linear};
  }
  Value pullBack(Operation *op, mlir::OpBuilder &builder, mlir::Location loc, Value onResult, unsigned,
                 ArrayRef<int64_t> leftOut) const {
    ArrayRef<int64_t> reduced = llvm::cast<ReduceOp>(op).getDims();
    SmallVector<int64_t> dims, sizes;
    for (auto [dim, size] : llvm::enumerate(tensorTypeOf(op->getOperand(0)).getShape())) {
      if (llvm::is_contained(leftOut, static_cast<int64_t>(dim)))
        continue;
      if (!llvm::is_contained(reduced, static_cast<int64_t>(dim)))
        dims.push_back(static_cast<int64_t>(sizes.size()));
      sizes.push_back(size);
    }
    RankedTensorType type = tensorTypeOf(onResult).clone(sizes);
    return type == onResult.getType() ? onResult : Value(BroadcastOp::create(builder, loc, type, onResult, dims));
  }
};

template <typename Op> struct Draws : AlgebraOpInterface::ExternalModel<Draws<Op>, Op> {
  bool drawsNumbers(Operation *) const { return true; }
};

template <typename Op> struct MayDraw : AlgebraOpInterface::ExternalModel<MayDraw<Op>, Op> {
  bool drawsNumbers(Operation *op) const { return llvm::cast<Op>(op).getRate().has_value(); }
};

struct Normalizes : AlgebraOpInterface::ExternalModel<Normalizes, NormalizeOp> {
  bool statesItsGroup(Operation *, unsigned number) const { return number == 0; }
};

struct Joins : IndexingOpInterface::ExternalModel<Joins, ConcatOp> {
  std::optional<int64_t> getJoinedDim(Operation *op) const {
    return static_cast<int64_t>(llvm::cast<ConcatOp>(op).getDim());
  }
};

struct Cuts : IndexingOpInterface::ExternalModel<Cuts, SliceOp> {
  SmallVector<ArrayRef<int64_t>, 2> getStarts(Operation *op) const {
    auto slice = llvm::cast<SliceOp>(op);
    return {slice.getStarts(), slice.getSteps()};
  }
};

struct Pads : IndexingOpInterface::ExternalModel<Pads, PadOp> {
  SmallVector<ArrayRef<int64_t>, 2> getStarts(Operation *op) const { return {llvm::cast<PadOp>(op).getLow()}; }
};

struct Counts : IndexingOpInterface::ExternalModel<Counts, IotaOp> {
  std::optional<int64_t> getCountedDim(Operation *op) const {
    auto iota = llvm::cast<IotaOp>(op);
    return iota.getOrigin() ? std::nullopt : std::optional<int64_t>(iota.getDim());
  }
};

struct Reads : IndexingOpInterface::ExternalModel<Reads, TakeOp> {
  std::optional<TableRead> getTableRead(Operation *op) const {
    auto take = llvm::cast<TakeOp>(op);
    return TableRead{take.getOperand(), take.getIndices()};
  }
};

} // namespace

void cleave::attachAlgebra(mlir::MLIRContext &context) {
  AddOp::attachInterface<Adds<AddOp, 1>>(context);
  SubOp::attachInterface<Adds<SubOp, -1>>(context);
  NegOp::attachInterface<Negates>(context);
  MulOp::attachInterface<Multiplies>(context);
  DivOp::attachInterface<Divides>(context);
  MaxOp::attachInterface<Bounds>(context);
  CompareOp::attachInterface<Compares>(context);
  SelectOp::attachInterface<Selects>(context);
  LogSoftmaxOp::attachInterface<LogProbabilities>(context);
  CastOp::attachInterface<Casts>(context);
  CheckIndexOp::attachInterface<Checks>(context);
  ReshapeOp::attachInterface<Moves<ReshapeOp, true>>(context);
  BroadcastOp::attachInterface<Moves<BroadcastOp, true>>(context);
  SliceOp::attachInterface<Moves<SliceOp, false>>(context);
  TransposeOp::attachInterface<Transposes>(context);
  ReduceOp::attachInterface<Sums>(context);
  RandomUniformOp::attachInterface<Draws<RandomUniformOp>>(context);
  RandomUniformAtOp::attachInterface<Draws<RandomUniformAtOp>>(context);
  AttentionOp::attachInterface<MayDraw<AttentionOp>>(context);
  AttentionGradOp::attachInterface<MayDraw<AttentionGradOp>>(context);
  NormalizeOp::attachInterface<Normalizes>(context);
  ConcatOp::attachInterface<Joins>(context);
  SliceOp::attachInterface<Cuts>(context);
  PadOp::attachInterface<Pads>(context);
  IotaOp::attachInterface<Counts>(context);
  TakeOp::attachInterface<Reads>(context);
}

LinearOperands cleave::linearOperands(Operation *op) {
  auto algebra = llvm::dyn_cast<AlgebraOpInterface>(op);
  return algebra ? algebra.getLinearOperands() : LinearOperands();
}

static bool isPlainElement(const LinearOperand &linear) {
  return !linear.sums && !linear.scale && !linear.condition && linear.usesEachOnce;
}

bool cleave::isPlainSum(const LinearOperand &linear) {
  return linear.sums && linear.factor == 1 && !linear.scale && !linear.condition && linear.usesEachOnce;
}

bool cleave::addsOperands(Operation *op) {
  auto algebra = llvm::dyn_cast<AlgebraOpInterface>(op);
  return algebra && algebra.addsOperands();
}

bool cleave::addsTwoPlainly(Operation *op) {
  return addsOperands(op) && op->getNumOperands() == 2 && llvm::all_of(linearOperands(op), isPlainElement);
}

Value cleave::carriedOperand(Operation *op) {
  auto algebra = llvm::dyn_cast<AlgebraOpInterface>(op);
  return algebra ? algebra.getCarriedOperand() : Value();
}

Value cleave::reshapedOperand(Operation *op) {
  auto compute = llvm::dyn_cast<ComputeOpInterface>(op);
  bool isView = compute && compute.getComputeKind() == ComputeKind::View;
  return isView ? carriedOperand(op) : Value();
}

Value cleave::throughReshapes(Value value, llvm::function_ref<bool(Value, Value)> passes) {
  while (Operation *op = value.getDefiningOp()) {
    Value operand = reshapedOperand(op);
    if (!operand || (passes && !passes(operand, value)))
      break;
    value = operand;
  }
  return value;
}

NumberBounds cleave::numberBounds(Operation *op) {
  auto algebra = llvm::dyn_cast<AlgebraOpInterface>(op);
  return algebra ? algebra.getNumberBounds() : NumberBounds();
}

std::optional<ComparedValues> cleave::comparisonOf(Operation *op) {
  auto algebra = llvm::dyn_cast_or_null<AlgebraOpInterface>(op);
  return algebra ? algebra.getComparison() : std::nullopt;
}

SmallVector<Value, 2> cleave::choicesOf(Operation *op) {
  auto algebra = llvm::dyn_cast_or_null<AlgebraOpInterface>(op);
  return algebra ? algebra.getChoices() : SmallVector<Value, 2>();
}

std::optional<int64_t> cleave::logProbabilityDim(Operation *op) {
  auto algebra = llvm::dyn_cast_or_null<AlgebraOpInterface>(op);
  return algebra ? algebra.getLogProbabilityDim() : std::nullopt;
}

bool cleave::drawsNumbers(Operation *op) {
  auto algebra = llvm::dyn_cast<AlgebraOpInterface>(op);
  return algebra && algebra.drawsNumbers();
}

bool cleave::statesItsGroup(Operation *op, unsigned number) {
  auto algebra = llvm::dyn_cast<AlgebraOpInterface>(op);
  return algebra && algebra.statesItsGroup(number);
}

std::optional<int64_t> cleave::joinedDim(Operation *op) {
  auto indexing = llvm::dyn_cast<IndexingOpInterface>(op);
  return indexing ? indexing.getJoinedDim() : std::nullopt;
}

SmallVector<ArrayRef<int64_t>, 2> cleave::startsOf(Operation *op) {
  auto indexing = llvm::dyn_cast<IndexingOpInterface>(op);
  return indexing ? indexing.getStarts() : SmallVector<ArrayRef<int64_t>, 2>();
}

std::optional<int64_t> cleave::countedDim(Operation *op) {
  auto indexing = llvm::dyn_cast_or_null<IndexingOpInterface>(op);
  return indexing ? indexing.getCountedDim() : std::nullopt;
}

std::optional<TableRead> cleave::tableReadOf(Operation *op) {
  auto indexing = llvm::dyn_cast_or_null<IndexingOpInterface>(op);
  return indexing ? indexing.getTableRead() : std::nullopt;
}

// Returns the carried operand if its elements are the same numbers; null otherwise.
static Value sameNumbers(Operation *op) {
  Value carried = carriedOperand(op);
  bool isSame = carried && castKeepsNumbers(tensorTypeOf(carried).getElementType(),
                                            tensorTypeOf(op->getResult(0)).getElementType());
  return isSame ? carried : Value();
}

Value cleave::throughViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    Value carried = sameNumbers(op);
    if (!carried || countOf(carried) != countOf(value))
      break;
    value = carried;
  }
  return value;
}

Value cleave::getSpreadNumber(Value value) {
  while (countOf(value) != 1) {
    Operation *op = value.getDefiningOp();
    Value carried = op ? sameNumbers(op) : Value();
    if (!carried)
      return nullptr;
    value = carried;
  }
  return value;
}

std::optional<double> cleave::getConstantNumber(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    Value carried = sameNumbers(op);
    if (!carried)
      break;
    value = carried;
  }
  mlir::DenseElementsAttr elements;
  if (!mlir::matchPattern(value, mlir::m_Constant(&elements)) || !elements.isSplat())
    return std::nullopt;
  if (llvm::isa<mlir::FloatType>(elements.getElementType()))
    return elements.getSplatValue<llvm::APFloat>().convertToDouble();
  mlir::Type type = elements.getElementType();
  llvm::APInt number = elements.getSplatValue<llvm::APInt>();
  return number.roundToDouble(/*isSigned=*/!type.isInteger(1) && !type.isUnsignedInteger());
}

Predicate cleave::exchanged(Predicate predicate) {
  switch (predicate) {
  case Predicate::Lt:
    return Predicate::Gt;
  case Predicate::Le:
    return Predicate::Ge;
  case Predicate::Gt:
    return Predicate::Lt;
  case Predicate::Ge:
    return Predicate::Le;
  default:
    return predicate;
  }
}

Predicate cleave::opposite(Predicate predicate) {
  switch (predicate) {
  case Predicate::Eq:
    return Predicate::Ne;
  case Predicate::Ne:
    return Predicate::Eq;
  case Predicate::Lt:
    return Predicate::Ge;
  case Predicate::Ge:
    return Predicate::Lt;
  case Predicate::Le:
    return Predicate::Gt;
  case Predicate::Gt:
    return Predicate::Le;
  }
  llvm_unreachable("all predicates are above");
}

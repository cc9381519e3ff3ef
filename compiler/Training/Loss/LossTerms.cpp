#include "compiler/Training/Loss/LossTerms.h"

#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/States.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace cleave {

namespace {

// A loss of more terms is taken apart no further: deep chains of additions are no sums of losses.
constexpr unsigned kMostSplits = 64;
// Nor is one that is more linear ops deep, or whose count is divided by a count that is divided by a count, and so on.
constexpr unsigned kMostNodes = 2048, kMostCounts = 4;

double elementsOf(Value value) { return static_cast<double>(tensorType(value).getNumElements()); }

// The one element that all elements of the value are, or null.
Value getSpreadNumber(Value value) {
  while (auto *op = value.getDefiningOp()) {
    if (elementsOf(value) == 1 || !isa<ReshapeOp, BroadcastOp, CastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return elementsOf(value) == 1 ? value : Value();
}

bool hasBatchDims(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, kBatchDimAttr))
      return true;
  return false;
}

void addSource(BlockArgument argument, Sources &sources) {
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  bool isSamples =
      !function || !hasBatchDims(function) || function.getArgAttr(argument.getArgNumber(), kBatchDimAttr) != nullptr;
  (isSamples ? sources.samples : sources.others) = true;
}

void addSource(ReadOp read, SymbolTableCollection &symbols, Sources &sources) {
  auto state = symbols.lookupNearestSymbolFrom<StateOp>(read, read.getStateAttr());
  (state && state.getRole() == Role::Parameter ? sources.parameters : sources.others) = true;
}

bool isNumber(Type type) { return isa<FloatType>(type) || (isa<IntegerType>(type) && !type.isInteger(1)); }

// Whole numbers may become floating-point ones, not the other way.
bool isLinearCast(CastOp cast) {
  Type from = tensorType(cast.getOperand()).getElementType(), to = tensorType(cast.getResult()).getElementType();
  return isNumber(from) && isNumber(to) && (isa<FloatType>(to) || !isa<FloatType>(from));
}

} // namespace

std::optional<LossTerms::LinearStep> LossTerms::stepBy(Value number, unsigned rest, bool divides) const {
  LinearStep step;
  step.operand = rest;
  if (auto constant = getConstantNumber(number)) {
    step.factor = divides ? 1 / *constant : *constant;
    step.isConstant = true;
    return step;
  }
  Value single = getSpreadNumber(number);
  if (!single)
    return std::nullopt;
  if (divides) {
    if (counts < kMostCounts)
      step.countTerms = countOf(single, samples, counts + 1).terms;
    if (!step.countTerms.empty()) {
      step.count = single;
      return step;
    }
  }
  return sourcesOf(single).samples ? std::nullopt : std::optional(step);
}

std::optional<LossTerms::LinearStep> LossTerms::getLinearStep(Operation *op) const {
  if (isa<NegOp, ReshapeOp, TransposeOp>(op))
    return LinearStep();
  if (auto cast = dyn_cast<CastOp>(op))
    return isLinearCast(cast) ? std::optional(LinearStep()) : std::nullopt;
  if (auto reduce = dyn_cast<ReduceOp>(op); reduce && reduce.getKind() == ReduceKind::Sum) {
    LinearStep step;
    step.elements = elementsOf(reduce.getOperand()) / elementsOf(reduce.getResult());
    return step;
  }
  if (isa<DivOp>(op))
    return stepBy(op->getOperand(1), 0, /*divides=*/true);
  if (!isa<MulOp>(op))
    return std::nullopt;
  // The constant is the factor, where there is one.
  bool isRight = getConstantNumber(op->getOperand(1)) || !getConstantNumber(op->getOperand(0));
  auto step = stepBy(op->getOperand(isRight ? 1 : 0), isRight ? 0 : 1, /*divides=*/false);
  return step || !isRight ? step : stepBy(op->getOperand(0), 1, /*divides=*/false);
}

Sources sourcesOf(Value value) {
  Sources sources;
  SymbolTableCollection symbols;
  SmallVector<Value> stack = {value};
  llvm::DenseSet<Value> seen;
  while (!stack.empty()) {
    Value current = stack.pop_back_val();
    if (!seen.insert(current).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(current)) {
      addSource(argument, sources);
      continue;
    }
    Operation *op = current.getDefiningOp();
    if (auto read = dyn_cast<ReadOp>(op))
      addSource(read, symbols, sources);
    sources.samples |= isa<RandomUniformOp>(op); // other numbers in every micro-batch
    llvm::append_range(stack, op->getOperands());
  }
  return sources;
}

// The predicate for exchanged operands, and its opposite.
static Predicate exchanged(Predicate predicate) {
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
static Predicate opposite(Predicate predicate) {
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

static Value throughViews(Value value) {
  while (auto *op = value.getDefiningOp()) {
    if (!isa<ReshapeOp, CastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

// `inner`, and the guard of it that the op is; nothing where it is none.
static std::optional<std::pair<Value, CountGuard>> matchGuard(SelectOp select) {
  auto compare = select.getCondition().getDefiningOp<CompareOp>();
  bool keepsTrue = !getConstantNumber(select.getOnTrue());
  Value inner = keepsTrue ? select.getOnTrue() : select.getOnFalse();
  auto other = getConstantNumber(keepsTrue ? select.getOnFalse() : select.getOnTrue());
  if (!compare || !other)
    return std::nullopt;
  bool isLeft = throughViews(compare.getLhs()) == throughViews(inner);
  Value bound = isLeft ? compare.getRhs() : compare.getLhs();
  auto number = getConstantNumber(bound);
  if (!number || (!isLeft && throughViews(compare.getRhs()) != throughViews(inner)))
    return std::nullopt;
  Predicate predicate = isLeft ? compare.getPredicate() : exchanged(compare.getPredicate());
  CountGuard guard{CountGuard::Where, *number, keepsTrue ? opposite(predicate) : predicate, *other};
  return std::pair(inner, guard);
}
static std::optional<std::pair<Value, CountGuard>> matchGuard(Operation *op) {
  if (auto select = dyn_cast<SelectOp>(op))
    return matchGuard(select);
  if (!isa<MaxOp, AddOp>(op))
    return std::nullopt;
  bool isLeft = getConstantNumber(op->getOperand(0)).has_value();
  auto number = getConstantNumber(op->getOperand(isLeft ? 0 : 1));
  if (!number)
    return std::nullopt;
  CountGuard guard{isa<MaxOp>(op) ? CountGuard::AtLeast : CountGuard::Plus, *number};
  return std::pair(op->getOperand(isLeft ? 1 : 0), guard);
}

// Takes the guards off a value, through casts and reshapes: what is left, and the guards.
static LossCount takeGuardsOff(Value value) {
  LossCount count{value, {}, {}};
  while (auto *op = throughViews(count.sum).getDefiningOp()) {
    auto guard = matchGuard(op);
    count.sum = throughViews(count.sum);
    if (!guard)
      break;
    count.sum = guard->first;
    count.guards.insert(count.guards.begin(), guard->second);
  }
  return count;
}

LossCount countOf(Value divisor, const SampleDependence &samples, unsigned counts) {
  Sources sources = sourcesOf(divisor);
  if (sources.parameters || (!sources.samples && sources.others))
    return {};
  // The divisor itself may be a sum in which a constant is one of the terms.
  for (LossCount &count : SmallVector<LossCount, 2>{{divisor, {}, {}}, takeGuardsOff(divisor)}) {
    LossTerms terms(count.sum, samples, counts);
    if (!llvm::all_of(terms.get(), [&](const LossTerm &term) {
          return term.addsUp && !term.count && term.ofSamples == sources.samples;
        }))
      continue;
    count.terms.assign(terms.get().begin(), terms.get().end());
    return count;
  }
  return {};
}

std::optional<double> getConstantNumber(Value value) {
  while (auto *op = value.getDefiningOp()) {
    if (!isa<ReshapeOp, BroadcastOp, CastOp>(op))
      break;
    value = op->getOperand(0);
  }
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto elements = dyn_cast<DenseElementsAttr>(Attribute(constant.getValue()));
  if (!elements || !elements.isSplat())
    return std::nullopt;
  if (isa<FloatType>(elements.getElementType()))
    return elements.getSplatValue<APFloat>().convertToDouble();
  return static_cast<double>(elements.getSplatValue<APInt>().getSExtValue());
}

unsigned LossTerms::visit(Value value, LossTerm term) {
  unsigned index = nodes.size(), first = terms.size();
  nodes.emplace_back();
  nodes[index].value = value;
  Operation *op = value.getDefiningOp();
  bool isLeaf = !op || nodes.size() > kMostNodes;
  std::optional<LinearStep> step = isLeaf ? std::nullopt : getLinearStep(op);
  if (!isLeaf && isa<AddOp, SubOp>(op) && splits < kMostSplits) {
    ++splits;
    for (unsigned operand : {0, 1}) {
      unsigned inner = visit(op->getOperand(operand), term);
      nodes[index].inner.emplace_back(operand, inner);
    }
  } else if (step && !(step->count && term.count)) {
    term.factor *= step->factor;
    term.elements *= step->elements;
    if (step->isConstant)
      term.constants.push_back(step->factor);
    if (step->count) {
      term.count = step->count;
      term.countTerms = std::move(step->countTerms);
    }
    nodes[index].isCounting = step->count != nullptr;
    unsigned inner = visit(op->getOperand(step->operand), term);
    nodes[index].inner.emplace_back(step->operand, inner);
  } else {
    term.ofSamples = sourcesOf(value).samples;
    term.addsUp = samples.get(value) != Dependence::Mixed;
    terms.push_back(term);
  }
  nodes[index].firstTerm = first;
  nodes[index].numTerms = terms.size() - first;
  return index;
}

Value LossTerms::build(OpBuilder &builder, ArrayRef<double> weights, Value count) const {
  return build(builder, root, weights, count);
}

Value LossTerms::build(OpBuilder &builder, unsigned index, ArrayRef<double> weights, Value count) const {
  const Node &node = nodes[index];
  Arithmetic a(builder, node.value.getLoc());
  if (count && node.isCounting)
    return build(builder, node.inner.front().second, weights, nullptr);
  auto ownTerms = ArrayRef(terms).slice(node.firstTerm, node.numTerms);
  auto ownWeights = weights.slice(node.firstTerm, node.numTerms);
  bool isUniform = llvm::all_equal(ownWeights);
  if (isUniform && (!count || llvm::none_of(ownTerms, [](const LossTerm &term) { return term.count != nullptr; }))) {
    Value weighted = a.scale(node.value, ownWeights.front());
    return count ? a.mul(weighted, a.spread(count, weighted)) : weighted;
  }
  IRMapping mapping;
  Operation *op = node.value.getDefiningOp();
  Operation *copy = builder.clone(*op, mapping);
  for (auto [operand, inner] : node.inner) {
    // Operands stand before the copy.
    OpBuilder before(copy);
    copy->setOperand(operand, build(before, inner, weights, count));
  }
  return copy->getResult(0);
}

} // namespace cleave

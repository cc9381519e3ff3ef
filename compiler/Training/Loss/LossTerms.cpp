#include "compiler/Training/Loss/LossTerms.h"

#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/States.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace cleave {

namespace {

// A loss with more sums of two operands is not taken apart at all: some terms would be weighted, and the rest not.
constexpr unsigned kMostSplits = 256;
// The same holds for a loss with more ops on its tree. kMostCounts: how deep divisions by counts may be nested.
constexpr unsigned kMostNodes = 2048, kMostCounts = 4;

double elementsOf(Value value) { return static_cast<double>(tensorType(value).getNumElements()); }

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

} // namespace

bool hasBatchDims(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, kBatchDimAttr))
      return true;
  return false;
}

// At a limit, visit() makes leaves of all values that are left. Such a tree has no use, and takeWhole() makes one of a
// single leaf.
LossTerms::LossTerms(Value loss, const SampleDependence &samples, unsigned counts) : samples(samples), counts(counts) {
  root = visit(loss, {});
  if (isWhole)
    takeWhole(loss);
}

LossTerms::LossTerms(Value loss, const SampleDependence &samples, LossForm form)
    : LossTerms(loss, samples, form == LossForm::Counted ? 0 : kMostCounts) {
  if (form == LossForm::Whole)
    takeWhole(loss);
}

void LossTerms::takeWhole(Value loss) {
  isWhole = true;
  nodes.clear(), terms.clear();
  root = visit(loss, {});
}

// Accepts a factor that is the same for all elements: a constant, a number that no sample reaches, or a division by a
// count. Returns nothing for others.
std::optional<LossTerms::TermFactor> LossTerms::factorOf(const LinearOperand &linear) const {
  TermFactor factor;
  if (auto constant = getConstantNumber(linear.scale)) {
    factor.factor = linear.divides ? 1 / *constant : *constant;
    factor.isConstant = true;
    return factor;
  }
  Value single = getSpreadNumber(linear.scale);
  if (!single)
    return std::nullopt;
  if (linear.divides) {
    if (counts < kMostCounts) {
      LossCount count = countOf(single, samples, counts + 1);
      factor.countTerms = std::move(count.terms), factor.guards = std::move(count.guards);
    }
    if (!factor.countTerms.empty()) {
      factor.count = single;
      return factor;
    }
  }
  factor.scale = single;
  return sourcesOf(single).samples ? std::nullopt : std::optional(factor);
}

// Returns the operand to go on with. In a product with a constant, it is the other operand.
std::optional<LossTerms::TermFactor> LossTerms::nextFactor(Operation *op) const {
  SmallVector<LinearOperand, 2> linear = linearOperands(op);
  llvm::erase_if(linear, [](const LinearOperand &one) { return one.condition || !one.usesEachOnce; });
  llvm::stable_sort(linear, [](const LinearOperand &a, const LinearOperand &b) {
    auto isConstant = [](const LinearOperand &one) { return one.scale && getConstantNumber(one.scale); };
    return isConstant(a) && !isConstant(b);
  });
  for (const LinearOperand &one : linear) {
    std::optional<TermFactor> factor = one.scale ? factorOf(one) : TermFactor();
    if (!factor)
      continue;
    factor->operand = one.number;
    factor->factor *= one.factor;
    factor->sums = one.sums;
    if (one.sums)
      factor->elements = elementsOf(op->getOperand(one.number)) / elementsOf(op->getResult(0));
    return factor;
  }
  return std::nullopt;
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
    sources.samples |= drawsNumbers(op);
    llvm::append_range(stack, op->getOperands());
  }
  return sources;
}

// Returns the value that the op bounds by a constant, and the bound, or nothing.
static std::optional<std::pair<Value, CountGuard>> matchGuard(Operation *op) {
  for (const NumberBound &bound : numberBounds(op)) {
    auto number = getConstantNumber(bound.number);
    auto other = bound.other ? getConstantNumber(bound.other) : std::optional(0.0);
    if (number && other)
      return std::pair(bound.inner, CountGuard{bound.kind, *number, bound.predicate, *other});
  }
  return std::nullopt;
}

// Removes the guards from a value, through casts and reshapes. Returns the rest as `sum`, and the guards.
// For example, max(reduce_sum(m) + 1e-8, 1) gives reduce_sum(m), and the guards Plus 1e-8 and AtLeast 1 in this order.
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
  // The divisor itself may be a sum with a constant term, so it is tried as it is first.
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

// True for the sum of two operands, of which samples reach one, and parameters reach none. In a sum of such numbers,
// the other operand is added once for each element, and so is no term of its own.
static bool movesSamples(Operation *op) {
  Sources all = sourcesOf(op->getResult(0));
  return all.samples && !all.parameters &&
         llvm::any_of(op->getOperands(), [](Value operand) { return !sourcesOf(operand).samples; });
}

// `term` describes the path from the loss to the value: all factors, computed scales and the count that the ops of this
// path apply. A leaf completes it. The leaves below a node are next to each other in `terms`, because the walk goes
// depth first. The sign of an operand that a sum subtracts is not part of the factor: build() copies that op. One term
// has one count, so a second division by a count ends the path. `isSummed` says that the path has a sum of elements.
unsigned LossTerms::visit(Value value, LossTerm term, bool isSummed) {
  unsigned index = nodes.size(), first = terms.size();
  nodes.emplace_back();
  nodes[index].value = value;
  Operation *op = value.getDefiningOp();
  bool isSum = op && addsTwoPlainly(op);
  isWhole |= nodes.size() > kMostNodes || (isSum && splits == kMostSplits);
  bool isLeaf = !op || isWhole;
  isSum &= !isLeaf && !(isSummed && movesSamples(op));
  std::optional<TermFactor> next = isLeaf || addsOperands(op) ? std::nullopt : nextFactor(op);
  if (isSum) {
    ++splits;
    for (const LinearOperand &one : linearOperands(op)) {
      unsigned inner = visit(op->getOperand(one.number), term, isSummed);
      nodes[index].inner.emplace_back(one.number, inner);
    }
  } else if (next && !(next->count && term.count)) {
    term.factor *= next->factor;
    term.elements *= next->elements;
    if (next->isConstant)
      term.constants.push_back(next->factor);
    if (next->scale)
      term.scales.push_back(next->scale);
    if (next->count) {
      term.count = next->count;
      term.countTerms = std::move(next->countTerms), term.guards = std::move(next->guards);
    }
    nodes[index].isCounting = next->count != nullptr;
    unsigned inner = visit(op->getOperand(next->operand), term, isSummed || next->sums);
    nodes[index].inner.emplace_back(next->operand, inner);
  } else {
    term.ofSamples = sourcesOf(value).samples;
    term.addsUp = samples.get(value) != Dependence::Mixed;
    term.summand = value;
    terms.push_back(term);
  }
  nodes[index].firstTerm = first;
  nodes[index].numTerms = terms.size() - first;
  return index;
}

Value LossTerms::build(OpBuilder &builder, ArrayRef<double> weights, Value count) const {
  return build(builder, root, weights, count);
}

// Returns the node's value with each of its terms times the term's weight. With `count`, counted terms are not divided,
// and the others are multiplied by `count`. This is right because an op of the tree is linear in the operands that are
// built anew. For example, s / c + p with the weights 1 and 3 becomes s / c + 3 * p. With `count` it becomes
// s + 3 * p * count.
Value LossTerms::build(OpBuilder &builder, unsigned index, ArrayRef<double> weights, Value count) const {
  const Node &node = nodes[index];
  Arithmetic a(builder, node.value.getLoc());
  auto ownTerms = ArrayRef(terms).slice(node.firstTerm, node.numTerms);
  auto ownWeights = weights.slice(node.firstTerm, node.numTerms);
  auto isOff = [](const LossTerm &term) { return term.factor == 0; };
  // Leaves out the division: `count` replaces it, or no term needs it, and the count of a batch may be 0.
  if (node.isCounting && (count || llvm::all_of(ownTerms, isOff)))
    return build(builder, node.inner.front().second, weights, nullptr);
  auto isCounted = [](const LossTerm &term) { return term.count != nullptr; };
  bool isCountedPart = llvm::any_of(ownTerms, isCounted), isLeaf = node.inner.empty();
  // If all weights are equal, the value is scaled once, and no op below it is copied. A division that must be left out
  // needs the copies.
  bool isUniform = llvm::all_equal(ownWeights) &&
                   llvm::none_of(ownTerms, [&](const LossTerm &term) { return isCounted(term) && isOff(term); });
  if (isLeaf || (isUniform && !(count && isCountedPart))) {
    Value weighted = a.scale(node.value, ownWeights.front());
    return count && !isCountedPart ? a.mul(weighted, a.spread(count, weighted)) : weighted;
  }
  IRMapping mapping;
  Operation *op = node.value.getDefiningOp();
  Operation *copy = builder.clone(*op, mapping);
  for (auto [operand, inner] : node.inner) {
    // Operands are built before the copy.
    OpBuilder before(copy);
    copy->setOperand(operand, build(before, inner, weights, count));
  }
  return copy->getResult(0);
}

} // namespace cleave

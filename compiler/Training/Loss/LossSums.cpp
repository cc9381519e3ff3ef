#include "compiler/Training/Loss/LossSums.h"

#include "compiler/Training/Arithmetic.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Messages.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;

namespace cleave {

namespace {

bool isSingle(Value value) { return tensorType(value).getNumElements() == 1; }

// Walks from the loss to its sum. Collects the constant factor and at most one divisor.
class Peeler {
public:
  Peeler(const SampleDependence &samples, LossForm form) : samples(samples), form(form) {}

  std::optional<LossParts> peel(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isSingle(value) || addsOperands(op))
        return std::nullopt;
      Value next;
      for (const LinearOperand &linear : linearOperands(op)) {
        if (isPlainSum(linear))
          return finish(value, op->getOperand(linear.number));
        if (!next && takeFactor(linear))
          next = op->getOperand(linear.number);
      }
      if (!next)
        return std::nullopt;
      value = next;
    }
    return std::nullopt;
  }

private:
  std::optional<LossParts> finish(Value sum, Value summed) {
    parts.sum = sum;
    parts.elements = tensorType(summed).getNumElements();
    return parts;
  }

  // False for a factor that is not a constant. Of divisors, only constants and one count are accepted.
  bool takeFactor(const LinearOperand &linear) {
    if (linear.condition || !linear.usesEachOnce)
      return false;
    if (auto constant = linear.scale ? getConstantNumber(linear.scale) : std::optional(1.0)) {
      parts.factor *= linear.factor * (linear.divides ? 1 : *constant);
      if (linear.divides)
        parts.factor /= *constant;
      return true;
    }
    bool mayCount = linear.divides && !parts.count.sum && form == LossForm::Counted;
    LossCount count = mayCount ? countOf(linear.scale, samples) : LossCount();
    if (!count.sum)
      return false;
    parts.count = std::move(count);
    return true;
  }

  const SampleDependence &samples;
  LossForm form;
  LossParts parts;
};

// Returns the tensor whose sum is the scalar, through casts and reshapes, or null if the scalar is not a sum.
Value getSummed(Value value) {
  Operation *op = isSingle(value) ? throughViews(value).getDefiningOp() : nullptr;
  if (op)
    for (const LinearOperand &linear : linearOperands(op))
      if (isPlainSum(linear))
        return op->getOperand(linear.number);
  return nullptr;
}

// Returns the scalar `value` as a vector of `ranks` numbers: its reduction over the samples of each rank, at any
// position of the samples in the summed tensor. Returns null, and sets `reason`, if this is not possible.
Value splitOverRanks(OpBuilder &builder, Value value, int64_t ranks, const SampleDependence &samples,
                     std::string &reason) {
  Arithmetic a(builder, value.getLoc());
  Value summed = getSummed(value);
  if (!summed) {
    reason = "a rank's part can only be taken of a sum over elements";
    return nullptr;
  }
  std::optional<SamplePosition> at = samples.position(summed);
  if (!at) {
    reason = "in which dimension of the summed tensor the samples lie is not known";
    return nullptr;
  }
  if (at->count % ranks != 0) {
    reason = std::to_string(at->count) + " samples do not divide by " + std::to_string(ranks) + " data ranks";
    return nullptr;
  }
  // The dimension counts (outer, ranks, samples of a rank, inner).
  ArrayRef<int64_t> sizes = tensorType(summed).getShape();
  SmallVector<int64_t> shape(sizes.take_front(at->dim));
  int64_t rankDim = at->dim + 1;
  llvm::append_values(shape, sizes[at->dim] / (at->count * at->inner), ranks, at->count / ranks, at->inner);
  llvm::append_range(shape, sizes.drop_front(at->dim + 1));
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  llvm::erase(dims, rankDim);
  return ReduceOp::create(builder, value.getLoc(), ReduceKind::Sum, a.reshape(summed, shape), dims);
}

// Returns (factor * n, n). If the integer n makes factor * n equal to 1 or -1, the constant was the divisor of a mean.
// If there is no such n, n is `elements`.
std::pair<double, double> undoMean(double factor, int64_t elements) {
  double whole = std::round(1 / std::fabs(factor));
  if (whole >= 1 && std::fabs(std::fabs(factor) * whole - 1) < 1e-6)
    return {std::copysign(1.0, factor), whole};
  return {factor * static_cast<double>(elements), static_cast<double>(elements)};
}

} // namespace

Value guardCount(Arithmetic &a, Value count, ArrayRef<CountGuard> guards) {
  for (const CountGuard &guard : guards) {
    Value number = a.splat(tensorType(count), guard.number);
    if (guard.kind == NumberBound::AtLeast)
      count = a.max(count, number);
    else if (guard.kind == NumberBound::Plus)
      count = a.add(count, number);
    else
      count = a.select(a.compare(guard.predicate, count, number), a.splat(tensorType(count), guard.other), count);
  }
  return count;
}

std::string printGuard(const CountGuard &guard) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (guard.kind == NumberBound::Where)
    out << "where " << stringifyPredicate(guard.predicate) << " ";
  else
    out << (guard.kind == NumberBound::Plus ? "plus " : "at-least ");
  out << llvm::format("%.17g", guard.number);
  if (guard.kind == NumberBound::Where)
    out << " then " << llvm::format("%.17g", guard.other);
  return text;
}

SmallVector<CountGuard> guardsOver(ArrayRef<CountGuard> guards, double excess) {
  return llvm::map_to_vector(guards, [&](const CountGuard &guard) {
    return CountGuard{guard.kind, guard.number * excess, guard.predicate, guard.other * excess};
  });
}

// One dictionary for each guard: {kind, number, predicate, other}.
void setCountGuards(ModuleOp module, ArrayRef<CountGuard> guards) {
  if (guards.empty())
    return;
  Builder b(module.getContext());
  auto row = [&](const CountGuard &guard) -> Attribute {
    return b.getDictionaryAttr({b.getNamedAttr("kind", b.getI64IntegerAttr(guard.kind)),
                                b.getNamedAttr("number", b.getF64FloatAttr(guard.number)),
                                b.getNamedAttr("predicate", PredicateAttr::get(b.getContext(), guard.predicate)),
                                b.getNamedAttr("other", b.getF64FloatAttr(guard.other))});
  };
  module->setAttr(kLossGuardsAttr, b.getArrayAttr(llvm::map_to_vector(guards, row)));
}

SmallVector<CountGuard> takeCountGuards(ModuleOp module) {
  SmallVector<CountGuard> guards;
  if (auto rows = module->getAttrOfType<ArrayAttr>(kLossGuardsAttr))
    for (auto row : rows.getAsRange<DictionaryAttr>())
      guards.push_back({static_cast<CountGuard::Kind>(row.getAs<IntegerAttr>("kind").getInt()),
                        row.getAs<FloatAttr>("number").getValueAsDouble(),
                        row.getAs<PredicateAttr>("predicate").getValue(),
                        row.getAs<FloatAttr>("other").getValueAsDouble()});
  module->removeAttr(kLossGuardsAttr);
  return guards;
}

// Sets the count of a split. Its guards are applied here, or later, after the counts have been added up.
static void setCount(Arithmetic &a, LossSumAndCount &split, Value counted, const LossCount &count,
                     const LossLayout &layout) {
  split.count = layout.guardsEach ? guardCount(a, counted, count.guards) : counted;
  split.countReduction = layout.count;
  if (!layout.guardsEach)
    split.guards.assign(count.guards.begin(), count.guards.end());
}

std::optional<LossParts> recognizeLoss(Value loss, const SampleDependence &samples, LossForm form) {
  return Peeler(samples, form).peel(loss);
}

std::optional<LossSumAndCount> buildLossSums(OpBuilder &builder, const LossParts &parts, LossReduction reduction,
                                             const SampleDependence &samples, const LossLayout &layout,
                                             std::string &reason) {
  Arithmetic a(builder, parts.sum.getLoc());
  Type type = accumulationType(tensorType(parts.sum).getElementType());
  int64_t ranks = layout.ranks;
  std::pair<double, double> constant(parts.factor, 1.0);
  if (!parts.count.sum && reduction != LossReduction::Sum)
    constant = undoMean(parts.factor, parts.elements);
  else
    constant.first *= layout.weightOf(reduction);
  auto [factor, count] = constant;
  auto take = [&](Value value) -> Value {
    value = ranks > 1 ? splitOverRanks(builder, value, ranks, samples, reason) : a.reshape(value, {});
    return value ? a.cast(value, type) : value;
  };
  LossSumAndCount split;
  split.sum = take(parts.sum);
  if (!split.sum)
    return std::nullopt;
  split.sum = factor == -1 ? a.neg(split.sum) : a.scale(split.sum, factor);
  if (!parts.count.sum) {
    bool isSumOfEach = layout.guardsEach && reduction == LossReduction::Sum;
    split.count = a.splat(tensorType(split.sum), isSumOfEach ? count : count / static_cast<double>(ranks));
    return split;
  }
  Value counted = take(parts.count.sum);
  if (!counted)
    return std::nullopt;
  setCount(a, split, counted, parts.count, layout);
  return split;
}

std::string nameOfTerm(const LossTerms &terms, const LossTerm &term) {
  if (terms.get().size() == 1)
    return "it";
  std::string node = nodeNameOf(term.summand.getLoc());
  return node.empty() ? "a term of it" : "its term of " + node;
}

static std::string differentCounts(const LossTerm &one, const LossTerm &other) {
  std::string node = nodeNameOf(one.summand.getLoc()), otherNode = nodeNameOf(other.summand.getLoc());
  std::string terms = node.empty() || otherNode.empty() || node == otherNode ? "" : node + " and " + otherNode;
  return "its terms are divided by different counts, unless these are the same in all batches" +
         (terms.empty() ? "" : ": those of " + terms);
}

// Returns the factor of terms that are not counted, in one batch. The sum of these factors over the batches is the
// guarded count of all. A number that a guard adds is divided among the batches, or added in each if the counts are
// means (excessOfCount). A guard that acts only on small counts cannot be applied in one of several batches.
// An evaluation has several, too, and one that only fills up the last: its count is 0.
static Value weightOfUncounted(Arithmetic &a, const LossSumAndCount &split, const LossLayout &layout) {
  if (layout.microBatches == 1 && !layout.isEvaluation)
    return guardCount(a, split.count, split.guards);
  double added = 0, share = excessOfCount(layout.count, layout.microBatches) / static_cast<double>(layout.microBatches);
  for (const CountGuard &guard : split.guards)
    if (guard.kind == NumberBound::Plus)
      added += guard.number * share;
  return a.shift(split.count, added);
}

// True if the guard also acts on counts that are not zero.
static bool actsOnCounts(const CountGuard &guard, LossReduction count) {
  constexpr double kRounding = 1e-6;
  if (guard.kind == NumberBound::Plus)
    return std::fabs(guard.number) > kRounding;
  return guard.number > (count == LossReduction::Mean ? kRounding : 1);
}

// A term that every batch adds whole, with few samples as with many, would be added once for each batch, but guarded
// only once. A bound that grows with the batch is not the bound of all batches together.
bool averagesBatches(const LossTerms &terms, ArrayRef<CountGuard> guards, const LossLayout &layout) {
  auto isOfBatch = [](const auto &pair) {
    const auto &[term, reduction] = pair;
    return term.factor != 0 && (!term.ofSamples || reduction == LossReduction::Share);
  };
  auto acts = [&](const CountGuard &guard) { return actsOnCounts(guard, layout.count); };
  if (guards.empty())
    return false;
  return llvm::is_contained(layout.reductions, LossReduction::Unknown) ||
         (llvm::any_of(guards, acts) && llvm::any_of(llvm::zip_equal(terms.get(), layout.reductions), isOfBatch));
}

LossSumAndCount splitTerms(OpBuilder &builder, Value loss, const LossTerms &terms, const SampleDependence &samples,
                           const LossLayout &layout, std::string &reason) {
  Arithmetic a(builder, loss.getLoc());
  const LossTerm *first = nullptr; // that needs the count of all samples
  std::string apart;               // why the terms have no sum and count of all samples
  for (auto [term, reduction] : llvm::zip_equal(terms.get(), layout.reductions)) {
    if (term.factor == 0)
      continue; // switched off: its count is not a count of the loss
    if (reduction == LossReduction::Whole)
      apart = nameOfTerm(terms, term) + " is not a sum over samples divided by a count";
    if (!term.count && !term.ofSamples)
      continue;
    first = first ? first : &term;
    if (term.count != first->count) {
      apart = differentCounts(*first, term);
      break;
    }
  }
  Type type = accumulationType(tensorType(loss).getElementType());
  bool hasCount = first && first->count, isCounted = hasCount && apart.empty();
  LossCount count = isCounted ? countOf(first->count, samples) : LossCount();
  LossSumAndCount split;
  split.averagesBatches = isCounted && averagesBatches(terms, count.guards, layout);
  bool isOfEach = layout.isEvaluation && split.averagesBatches; // each batch is divided by its own count
  isCounted &= !isOfEach;
  if (reason.empty())
    reason = apart;
  bool isMean = isOfEach || !reason.empty(); // of the batches' losses as they are
  auto weights = llvm::map_to_vector(
      layout.reductions, [&](LossReduction reduction) { return isMean ? 1.0 : layout.weightOf(reduction); });
  split.addsUp = isCounted || (!hasCount && apart.empty());
  if (isCounted)
    setCount(a, split, a.cast(a.reshape(count.sum, {}), type), count, layout);
  Value weight = isCounted ? weightOfUncounted(a, split, layout) : Value();
  split.sum = a.cast(a.reshape(terms.build(builder, weights, weight), {}), type);
  if (isCounted)
    return split;
  auto batch = static_cast<double>(layout.batch);
  split.sum = a.scale(split.sum, batch);
  split.count = a.splat(tensorType(split.sum), batch);
  return split;
}

} // namespace cleave

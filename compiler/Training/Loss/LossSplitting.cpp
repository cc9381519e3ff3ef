#include "compiler/Training/Loss/LossSplitting.h"

#include "compiler/Training/Arithmetic.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;

namespace cleave {

namespace {

bool isSingle(Value value) { return tensorType(value).getNumElements() == 1; }

// Walks from the loss towards its sum, gathering the constant factor and at most one divisor.
class Peeler {
public:
  explicit Peeler(const SampleDependence &samples) : samples(samples) {}

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

  // False for a factor that is no constant, and for all divisors but constants and one count.
  bool takeFactor(const LinearOperand &linear) {
    if (linear.condition || !linear.usesEachOnce)
      return false;
    if (auto constant = linear.scale ? getConstantNumber(linear.scale) : std::optional(1.0)) {
      parts.factor *= linear.factor * (linear.divides ? 1 : *constant);
      if (linear.divides)
        parts.factor /= *constant;
      return true;
    }
    LossCount count = linear.divides && !parts.count.sum ? countOf(linear.scale, samples) : LossCount();
    if (!count.sum)
      return false;
    parts.count = std::move(count);
    return true;
  }

  const SampleDependence &samples;
  LossParts parts;
};

// What is summed to the scalar, through casts and reshapes; null where it is no sum.
Value getSummed(Value value) {
  Operation *op = isSingle(value) ? throughViews(value).getDefiningOp() : nullptr;
  if (op)
    for (const LinearOperand &linear : linearOperands(op))
      if (isPlainSum(linear))
        return op->getOperand(linear.number);
  return nullptr;
}

// The scalar `value` as a vector: its reduction over each rank's samples, wherever they lie in the summed tensor.
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

// factor * n where n is the integer that makes it 1 or -1, if it is one: then the division was a mean's.
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

// {kind, number, predicate, other}, one a guard.
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

// The count of a split: guarded here, or by who adds up the counts.
static void setCount(Arithmetic &a, LossSplit &split, Value counted, const LossCount &count, const LossLayout &layout) {
  split.count = layout.guardsEach ? guardCount(a, counted, count.guards) : counted;
  split.countReduction = layout.count;
  if (!layout.guardsEach)
    split.guards.assign(count.guards.begin(), count.guards.end());
}

std::optional<LossParts> recognizeLoss(Value loss, const SampleDependence &samples) {
  return Peeler(samples).peel(loss);
}

std::optional<LossSplit> splitLoss(OpBuilder &builder, const LossParts &parts, LossReduction reduction,
                                   const SampleDependence &samples, const LossLayout &layout, std::string &reason) {
  Arithmetic a(builder, parts.sum.getLoc());
  Type type = accumulationType(tensorType(parts.sum).getElementType());
  int64_t ranks = layout.ranks;
  std::pair<double, double> constant(parts.factor, 1.0);
  if (!parts.count.sum && reduction != LossReduction::Sum)
    constant = undoMean(parts.factor, parts.elements);
  else
    constant.first *= weightOf(reduction, layout.microBatches);
  auto [factor, count] = constant;
  auto take = [&](Value value) -> Value {
    value = ranks > 1 ? splitOverRanks(builder, value, ranks, samples, reason) : a.reshape(value, {});
    return value ? a.cast(value, type) : value;
  };
  LossSplit split;
  split.sum = take(parts.sum);
  if (!split.sum)
    return std::nullopt;
  split.sum = factor == -1 ? a.neg(split.sum) : a.scale(split.sum, factor);
  if (!parts.count.sum) {
    split.count = a.splat(tensorType(split.sum), count / static_cast<double>(ranks));
    return split;
  }
  Value counted = take(parts.count.sum);
  if (!counted)
    return std::nullopt;
  setCount(a, split, counted, parts.count, layout);
  return split;
}

// What terms that are not counted are multiplied by in a batch, so that the sum over batches is the guarded count of
// all: what a guard adds is dealt out to the batches. A guard that acts on small counts alone cannot be known in one
// of several batches.
static Value weightOfUncounted(Arithmetic &a, const LossSplit &split, const LossLayout &layout) {
  if (layout.microBatches == 1)
    return guardCount(a, split.count, split.guards);
  double added = 0;
  for (const CountGuard &guard : split.guards)
    if (guard.kind == NumberBound::Plus)
      added += guard.number / static_cast<double>(layout.microBatches);
  return a.shift(split.count, added);
}

// Whether a guard acts where labels count, too, and not only where none does.
static bool actsOnCounts(const CountGuard &guard, LossReduction count) {
  constexpr double kRounding = 1e-6;
  if (guard.kind == NumberBound::Plus)
    return std::fabs(guard.number) > kRounding;
  return guard.number > (count == LossReduction::Mean ? kRounding : 1);
}

// Terms that every batch adds whole, be its samples many or few, would be added so many times, and guarded once.
bool averagesBatches(const LossTerms &terms, ArrayRef<CountGuard> guards, const LossLayout &layout) {
  auto isOfBatch = [](const auto &pair) {
    const auto &[term, reduction] = pair;
    return term.factor != 0 && (!term.ofSamples || reduction == LossReduction::Share);
  };
  auto acts = [&](const CountGuard &guard) { return actsOnCounts(guard, layout.count); };
  return layout.isEvaluation && llvm::any_of(guards, acts) &&
         llvm::any_of(llvm::zip_equal(terms.get(), layout.reductions), isOfBatch);
}

LossSplit splitTerms(OpBuilder &builder, Value loss, const LossTerms &terms, const SampleDependence &samples,
                     const LossLayout &layout, std::string &reason) {
  Arithmetic a(builder, loss.getLoc());
  SmallVector<double> weights;
  llvm::SmallSetVector<Value, 2> counts;
  bool isUncounted = false;
  for (auto [term, reduction] : llvm::zip_equal(terms.get(), layout.reductions)) {
    weights.push_back(weightOf(reduction, layout.microBatches));
    if (term.factor == 0)
      continue; // switched off: its count is not the loss's
    if (term.count)
      counts.insert(term.count);
    isUncounted |= term.ofSamples && !term.count;
    if (reduction == LossReduction::Whole)
      reason = "it is not a sum over samples divided by a count";
  }
  if (counts.size() > 1 || (!counts.empty() && isUncounted))
    reason = "its terms are divided by different counts";
  Type type = accumulationType(tensorType(loss).getElementType());
  bool isCounted = counts.size() == 1 && !isUncounted && reason.empty();
  LossCount count = isCounted ? countOf(counts.front(), samples) : LossCount();
  LossSplit split;
  split.averagesBatches = isCounted && averagesBatches(terms, count.guards, layout);
  if (split.averagesBatches) { // each batch has its own loss, divided by its own count
    isCounted = false;
    for (auto [term, weight] : llvm::zip_equal(terms.get(), weights))
      weight = term.count ? 1 : weight;
  }
  split.addsUp = isCounted || (counts.empty() && reason.empty());
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

#include "compiler/Training/Loss/LossReduction.h"

#include "dialects/Cleave/IR/Attributes.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;

namespace cleave {

namespace {

// In the order of LossReduction.
constexpr llvm::StringLiteral kNames[] = {"sum", "mean", "share", "whole", "unknown"};

bool isNear(double a, double b) { return std::fabs(a - b) <= 1e-5 * std::fabs(b); }

double growthOf(const LossTerm &once, const LossTerm &twice) {
  double growth = twice.factor * twice.elements / (once.factor * once.elements);
  auto numbers = summedNumbers(once, twice);
  return numbers && numbers->first != numbers->second ? growth * numbers->second / numbers->first : growth;
}

// Returns the factor by which the count grows with twice the batch, or nothing if its terms grow differently.
std::optional<double> growthOfCount(llvm::ArrayRef<LossTerm> once, llvm::ArrayRef<LossTerm> twice) {
  std::optional<double> growth;
  if (once.size() != twice.size())
    return std::nullopt;
  for (auto [a, b] : llvm::zip_equal(once, twice)) {
    if (growth && !isNear(growthOf(a, b), *growth))
      return std::nullopt;
    growth = growthOf(a, b);
  }
  return growth;
}

LossReduction ofGrowth(double growth) {
  for (auto [known, reduction] :
       {std::pair(1.0, LossReduction::Mean), {2.0, LossReduction::Sum}, {0.5, LossReduction::Share}})
    if (isNear(growth, known))
      return reduction;
  return LossReduction::Unknown;
}

// Summands that are made of several samples together may themselves grow or shrink with the batch (weights that are
// divided by their sum). For them it says nothing that the factor is not the one of a mean.
LossReduction ofGrowth(bool addsUp, double growth) {
  LossReduction reduction = ofGrowth(growth);
  return addsUp || reduction == LossReduction::Mean ? reduction : LossReduction::Whole;
}

// False if a guard's number grows with the batch: it is then a part of the count that micro-batches do not have.
bool haveSameGuards(const LossTerm &once, const LossTerm &twice) {
  return llvm::equal(once.guards, twice.guards, [](const CountGuard &a, const CountGuard &b) {
    return a.kind == b.kind && a.predicate == b.predicate && a.number == b.number && a.other == b.other;
  });
}

TermReduction reductionOf(const LossTerm &once, const LossTerm &twice, int64_t batch) {
  bool isCounted = once.count && twice.count;
  if (isCounted && !haveSameGuards(once, twice) && once.factor != 0)
    return {LossReduction::Unknown, LossReduction::Unknown};
  auto divisor = isCounted ? growthOfCount(once.countTerms, twice.countTerms) : std::optional(1.0);
  std::optional<LossReduction> count;
  if (isCounted)
    count = divisor ? ofGrowth(*divisor) : LossReduction::Unknown;
  if (once.factor == 0 && twice.factor == 0)
    return {LossReduction::Mean, count};                     // weight 0: its reduction does not matter
  bool addsUp = (once.addsUp || batch == 1) && twice.addsUp; // what mixes one sample may be any op
  if (once.ofSamples && !isNear(twice.elements, 2 * once.elements))
    return {LossReduction::Whole, count, !addsUp};
  LossReduction term = divisor ? ofGrowth(addsUp, growthOf(once, twice) / *divisor) : LossReduction::Unknown;
  if (term == LossReduction::Unknown && divisor && summedNumbers(once, twice)) // log(x.shape[0])
    return {LossReduction::Whole, count, /*mixes=*/false, /*sized=*/true};
  return {term, count, !addsUp};
}

// Guesses the factor by which a term grows with twice the batch.
double guessGrowth(const LossTerm &term, int64_t batch) {
  if (!term.ofSamples)
    return 1;
  double count = batch > 1 ? static_cast<double>(batch) : term.elements;
  auto counts = [&](double factor) {
    double multiple = std::round(1 / std::fabs(factor) / count);
    return count > 1 && multiple >= 1 && isNear(1 / std::fabs(factor), multiple * count);
  };
  return counts(term.factor) || llvm::any_of(term.constants, counts) ? 1 : 2;
}

TermReduction guessReduction(const LossTerm &term, int64_t batch) {
  double divisor = term.countTerms.empty() ? 1 : guessGrowth(term.countTerms.front(), batch);
  std::optional<LossReduction> count;
  if (!term.countTerms.empty())
    count = ofGrowth(divisor);
  if (term.factor == 0)
    return {LossReduction::Mean, count};
  if (term.ofSamples && std::fmod(term.elements, static_cast<double>(batch)) != 0)
    return {LossReduction::Whole, count, !term.addsUp}; // this is not a sum over the batch
  return {ofGrowth(term.addsUp, guessGrowth(term, batch) / divisor), count, !term.addsUp};
}

llvm::StringRef nameOf(LossReduction reduction) { return kNames[static_cast<int>(reduction)]; }

std::optional<LossReduction> parseName(llvm::StringRef name) {
  auto found = llvm::find(kNames, name);
  return found == std::end(kNames) ? std::nullopt
                                   : std::optional(static_cast<LossReduction>(found - std::begin(kNames)));
}

} // namespace

std::optional<std::pair<double, double>> summedNumbers(const LossTerm &once, const LossTerm &twice) {
  auto number = getConstantNumber(once.summand), other = getConstantNumber(twice.summand);
  return number && other ? std::optional(std::pair(*number, *other)) : std::nullopt;
}

bool needsThird(const LossTerm &once, const LossTerm &twice) {
  if (once.factor == 0)
    return false;
  // Factors of sums and means: whole numbers, and one over them. Another one may hide a function of the batch, such as
  // log(batch) / batch, which is the same for 2 and for 4.
  auto isWhole = [](double number) { return isNear(number, std::round(number)); };
  if (!isWhole(once.factor) && !isWhole(1 / once.factor))
    return true;
  double growth = growthOf(once, twice);
  return !isNear(growth, 1) && !isNear(growth, twice.elements / once.elements);
}

bool growsSteadily(const LossTerm &once, const LossTerm &twice, const LossTerm &thrice) {
  return isNear(growthOf(once, thrice), std::pow(3, std::log2(growthOf(once, twice))));
}

std::string printReduction(TermReduction reduction) {
  return (nameOf(reduction.term) + (reduction.count ? "/" + nameOf(*reduction.count) : "") +
          (reduction.mixes ? " mixes" : "") + (reduction.sized ? " sized" : ""))
      .str();
}

std::optional<TermReduction> parseReduction(llvm::StringRef text) {
  bool sized = text.consume_back(" sized"), mixes = text.consume_back(" mixes");
  auto [term, count] = text.split('/');
  std::optional<LossReduction> ofTerm = parseName(term), ofCount = parseName(count);
  if (!ofTerm || (!ofCount && term.size() != text.size()))
    return std::nullopt;
  return TermReduction{*ofTerm, ofCount, mixes, sized};
}

double weightOf(LossReduction reduction, int64_t microBatches) {
  auto count = static_cast<double>(microBatches);
  return reduction == LossReduction::Sum ? count : reduction == LossReduction::Share ? 1 / count : 1;
}

std::optional<llvm::SmallVector<TermReduction>> compareReductions(const LossTerms &once, const LossTerms &twice,
                                                                  int64_t batch) {
  if (once.get().size() != twice.get().size())
    return std::nullopt;
  llvm::SmallVector<TermReduction> reductions;
  for (auto [small, large] : llvm::zip_equal(once.get(), twice.get()))
    reductions.push_back(reductionOf(small, large, batch));
  return reductions;
}

bool countAlike(const LossTerms &once, const LossTerms &twice) {
  return llvm::equal(once.get(), twice.get(),
                     [](const LossTerm &a, const LossTerm &b) { return bool(a.count) == bool(b.count); });
}

bool areOf(llvm::ArrayRef<TermReduction> reductions, const LossTerms &terms) {
  return llvm::equal(reductions, terms.get(), [](const TermReduction &reduction, const LossTerm &term) {
    return reduction.count.has_value() == bool(term.count);
  });
}

llvm::SmallVector<TermReduction> guessReductions(const LossTerms &terms, int64_t batch) {
  return llvm::map_to_vector(terms.get(), [&](const LossTerm &term) { return guessReduction(term, batch); });
}

int64_t batchOf(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto dim = function.getArgAttrOfType<IntegerAttr>(i, kBatchDimAttr))
      return cast<RankedTensorType>(function.getArgumentTypes()[i]).getDimSize(dim.getInt());
  return 1;
}

double excessOfCount(LossReduction count, int64_t microBatches) {
  return count == LossReduction::Mean ? static_cast<double>(microBatches) : 1;
}

} // namespace cleave

#include "compiler/Training/Loss/LossReduction.h"

#include "dialects/Cleave/IR/Attributes.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;

namespace cleave {

namespace {

// By LossReduction's numbers.
constexpr llvm::StringLiteral kNames[] = {"sum", "mean", "share", "whole", "unknown"};

bool isNear(double a, double b) { return std::fabs(a - b) <= 1e-5 * std::fabs(b); }

double growthOf(const LossTerm &once, const LossTerm &twice) {
  return twice.factor * twice.elements / (once.factor * once.elements);
}

// By how much the count grows; nothing where its terms grow differently.
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

LossReduction reductionOf(const LossTerm &once, const LossTerm &twice) {
  if (once.factor == 0 && twice.factor == 0)
    return LossReduction::Mean; // of no weight, whatever it is
  if (once.ofSamples && !isNear(twice.elements, 2 * once.elements))
    return LossReduction::Whole;
  double growth = growthOf(once, twice);
  if (once.count && twice.count) {
    auto divisor = growthOfCount(once.countTerms, twice.countTerms);
    if (!divisor)
      return LossReduction::Unknown;
    growth /= *divisor;
  }
  return ofGrowth(growth);
}

// Of a sum over samples: by how much it grows with twice the batch.
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

LossReduction guessReduction(const LossTerm &term, int64_t batch) {
  if (term.factor == 0)
    return LossReduction::Mean;
  if (term.ofSamples && std::fmod(term.elements, static_cast<double>(batch)) != 0)
    return LossReduction::Whole; // the batch is not what is summed here
  double growth = guessGrowth(term, batch);
  for (const LossTerm &counted : llvm::ArrayRef(term.countTerms).take_front())
    growth /= guessGrowth(counted, batch);
  return ofGrowth(growth);
}

} // namespace

llvm::StringRef lossReductionName(LossReduction reduction) { return kNames[static_cast<int>(reduction)]; }

std::optional<LossReduction> parseLossReduction(llvm::StringRef name) {
  auto found = llvm::find(kNames, name);
  return found == std::end(kNames) ? std::nullopt
                                   : std::optional(static_cast<LossReduction>(found - std::begin(kNames)));
}

double weightOf(LossReduction reduction, int64_t microBatches) {
  auto count = static_cast<double>(microBatches);
  return reduction == LossReduction::Sum ? count : reduction == LossReduction::Share ? 1 / count : 1;
}

std::optional<llvm::SmallVector<LossReduction>> compareReductions(const LossTerms &once, const LossTerms &twice) {
  if (once.get().size() != twice.get().size())
    return std::nullopt;
  llvm::SmallVector<LossReduction> reductions;
  for (auto [small, large] : llvm::zip_equal(once.get(), twice.get()))
    reductions.push_back(reductionOf(small, large));
  return reductions;
}

llvm::SmallVector<LossReduction> guessReductions(const LossTerms &terms, int64_t batch) {
  return llvm::map_to_vector(terms.get(), [&](const LossTerm &term) { return guessReduction(term, batch); });
}

int64_t batchOf(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto dim = function.getArgAttrOfType<IntegerAttr>(i, kBatchDimAttr))
      return cast<RankedTensorType>(function.getArgumentTypes()[i]).getDimSize(dim.getInt());
  return 1;
}

double excessOfCount(llvm::ArrayRef<LossTerm> countTerms, int64_t batch, int64_t microBatches) {
  bool isMean = !countTerms.empty() && guessGrowth(countTerms.front(), batch) == 1;
  return isMean ? static_cast<double>(microBatches) : 1;
}

} // namespace cleave

#include "compiler/Driver/Model/LossProbe.h"

#include "compiler/Driver/Lowering.h"
#include "compiler/Driver/Model/BatchSizeUse.h"
#include "compiler/Driver/Model/BatchedModel.h"
#include "compiler/Support/Error.h"
#include "compiler/Training/Loss/LossReduction.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>

using namespace cleave;

static std::optional<unsigned> lossOf(mlir::func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, kLossAttr))
      return i;
  return std::nullopt;
}

static mlir::Value valueOf(mlir::func::FuncOp function, unsigned index) {
  return function.getBody().front().getTerminator()->getOperand(index);
}

static llvm::Error cleanUp(mlir::ModuleOp module) {
  mlir::PassManager manager(module.getContext());
  addCleanUp(manager);
  return mlir::succeeded(manager.run(module)) ? llvm::Error::success() : makeError("the model cannot be simplified");
}

static void setReductions(mlir::func::FuncOp function, unsigned index, llvm::ArrayRef<TermReduction> reductions) {
  mlir::Builder builder(function.getContext());
  auto names = llvm::map_to_vector(reductions, [&](TermReduction reduction) -> mlir::Attribute {
    return builder.getStringAttr(printReduction(reduction));
  });
  function.setResultAttr(index, kLossReductionsAttr, builder.getArrayAttr(names));
}

// A divisor that is a multiple of the batch may also be a weight: 0.5 * sum(x) with a batch of 2. There is no doubt
// about a large one that is the number of summed elements.
static bool mayBeWeight(double factor, double elements, int64_t batch) {
  constexpr double kLarge = 1000;
  auto isNear = [](double a, double b) { return std::fabs(a - b) <= 1e-5 * b; };
  double divisor = std::fabs(1 / factor), multiple = std::round(divisor / static_cast<double>(batch));
  return batch > 1 && multiple >= 1 && isNear(divisor, multiple * static_cast<double>(batch)) &&
         !(divisor > kLarge && isNear(divisor, elements));
}

// Numbers above 1 in guards may be the batch or a part of it, and so may numbers that are added to a count. A small
// number only keeps the count from being zero.
static bool mayDependOnBatch(const LossTerm &term, int64_t batch) {
  constexpr double kSmall = 1e-4;
  auto isWeight = [&](double factor) { return mayBeWeight(factor, term.elements, batch); };
  auto isBatch = [](const CountGuard &guard) {
    return guard.number > (guard.kind == NumberBound::Plus ? kSmall : 1) || guard.other > 1;
  };
  return isWeight(term.factor) || llvm::any_of(term.constants, isWeight) || llvm::any_of(term.guards, isBatch) ||
         (term.count && (!term.ofSamples || batch == 1));
}

// In an evaluation, the statistics of a normalization are those of the samples that are evaluated together.
static bool normalizationMixes(mlir::func::FuncOp function) { return function.getSymName() == "model.eval"; }

namespace {

// The loss of one import of the model.
struct ImportedLoss {
  ImportedLoss(const ImportedModel &model, mlir::func::FuncOp function, unsigned index)
      : model(model), function(function), loss(valueOf(function, index)),
        samples(function, normalizationMixes(function)) {}
  LossTerms terms(LossForm form) const { return {loss, samples, form}; }

  const ImportedModel &model;
  mlir::func::FuncOp function;
  mlir::Value loss;
  SampleDependence samples;
};

} // namespace

// Returns the first form in which both losses have the same terms and counts. With more than one sample in the batch,
// a count is known as such.
static std::optional<LossForm> commonForm(const ImportedLoss &small, const ImportedLoss &large) {
  auto isCommon = [&](LossForm form) {
    LossTerms once = small.terms(form), twice = large.terms(form);
    return once.get().size() == twice.get().size() && countAlike(once, twice);
  };
  if (batchOf(small.function) > 1)
    return LossForm::Counted;
  auto found = llvm::find_if(kLossForms, isCommon);
  return found == std::end(kLossForms) ? std::nullopt : std::optional(*found);
}

// Adds the values that decide whether terms are computed from the number of samples.
static void addTwins(llvm::ArrayRef<LossTerm> small, llvm::ArrayRef<LossTerm> large,
                     llvm::SmallVectorImpl<Twins> &twins) {
  for (auto [one, other] : llvm::zip(small, large)) {
    if (!summedNumbers(one, other)) // compareReductions() compares constants
      twins.emplace_back(one.summand, other.summand);
    for (auto [scale, twin] : llvm::zip(one.scales, other.scales))
      twins.emplace_back(scale, twin);
    addTwins(one.countTerms, other.countTerms, twins);
  }
}

// Returns the use of the batch size for each term.
static llvm::SmallVector<SizeUse> usesOf(const ImportedLoss &small, const ImportedLoss &large, LossForm form) {
  llvm::SmallVector<llvm::SmallVector<Twins>> ofTerms;
  LossTerms once = small.terms(form), twice = large.terms(form);
  for (auto [one, other] : llvm::zip(once.get(), twice.get()))
    addTwins(one, other, ofTerms.emplace_back());
  return findBatchSizeUse(small.model, large.model, small.function, ofTerms);
}

static const std::string kGuessed =
    "whether the loss is a sum over samples or a mean is guessed from its constants, since ";

bool cleave::hasPlainMeans(mlir::ModuleOp module) {
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    std::optional<unsigned> index = lossOf(function);
    if (!index)
      continue;
    SampleDependence samples(function, normalizationMixes(function));
    LossTerms terms(valueOf(function, *index), samples);
    int64_t batch = batchOf(function);
    auto isPlain = [](TermReduction reduction) {
      return reduction.term == LossReduction::Mean &&
             reduction.count.value_or(LossReduction::Sum) == LossReduction::Sum;
    };
    if (!llvm::all_of(guessReductions(terms, batch), isPlain) ||
        llvm::any_of(terms.get(), [&](const LossTerm &term) { return mayDependOnBatch(term, batch); }))
      return false;
  }
  return true;
}

// Imports the model with `factor` times the batch, and cleans it up as the model itself.
static llvm::Expected<ImportedModel> importClean(const ImportedModel &model, const ImportOptions &options,
                                                 int64_t factor) {
  auto larger = importLarger(model, options, factor);
  if (larger)
    if (llvm::Error error = cleanUp(*larger->module))
      return error;
  return larger;
}

// Returns the loss of the function that has the name of `twin`, if it is the same result there.
static std::optional<ImportedLoss> twinLossOf(const ImportedModel &model, mlir::func::FuncOp twin) {
  auto function = model.module.get().lookupSymbol<mlir::func::FuncOp>(twin.getSymName());
  std::optional<unsigned> index = lossOf(twin);
  if (!index || !function || lossOf(function) != index)
    return std::nullopt;
  return ImportedLoss(model, function, *index);
}

// Marks the terms that are found to grow in another way if a third batch is compared, too.
static void noteUnsteady(llvm::MutableArrayRef<TermReduction> reductions, const LossTerms &once, const LossTerms &twice,
                         const LossTerms &thrice) {
  if (thrice.get().size() != reductions.size())
    return;
  for (auto [reduction, small, large, third] : llvm::zip_equal(reductions, once.get(), twice.get(), thrice.get()))
    reduction.sized |= needsThird(small, large) && !growsSteadily(small, large, third);
}

// The import has other forms for some numbers (x * 1 is x, and a batch of one sample is not broadcast). If they keep
// two batches from being compared, each is compared with a third one. So is a constant that grows with the batch.
static void noteSized(llvm::MutableArrayRef<TermReduction> reductions, const ImportedLoss &small,
                      const ImportedLoss &large, LossForm form, const ImportOptions &options) {
  llvm::SmallVector<SizeUse> uses = usesOf(small, large, form);
  LossTerms once = small.terms(form), twice = large.terms(form);
  bool isDoubtful = llvm::any_of(llvm::zip_equal(once.get(), twice.get()),
                                 [](const auto &pair) { return needsThird(std::get<0>(pair), std::get<1>(pair)); });
  if (isDoubtful || llvm::is_contained(uses, SizeUse::Unknown)) {
    auto tripled = importClean(small.model, options, 3);
    auto third = tripled ? twinLossOf(*tripled, small.function) : std::nullopt;
    llvm::consumeError(tripled.takeError());
    if (third)
      noteUnsteady(reductions, once, twice, third->terms(form));
    for (const ImportedLoss *one : {&small, &large})
      if (auto others = third ? usesOf(*one, *third, form) : uses; others.size() == uses.size())
        for (auto [use, other] : llvm::zip_equal(uses, others))
          use = use == SizeUse::Unknown ? other : use;
  }
  for (auto [reduction, use] : llvm::zip(reductions, uses)) {
    reduction.sized |= use == SizeUse::Yes;
    if (reduction.sized && reduction.term != LossReduction::Mean)
      reduction.term = LossReduction::Whole; // how it grows says nothing
  }
}

llvm::Error cleave::noteLossReductions(ImportedModel &model, const ImportOptions &options) {
  auto doubled = importClean(model, options, 2);
  if (!doubled) {
    model.notes.push_back(kGuessed +
                          "the model cannot be read with twice the batch: " + llvm::toString(doubled.takeError()));
    return llvm::Error::success();
  }
  if (llvm::Error error = cleanUp(*model.module))
    return error;
  for (auto function : model.module->getOps<mlir::func::FuncOp>()) {
    std::optional<ImportedLoss> small = twinLossOf(model, function), large = twinLossOf(*doubled, function);
    if (!small || !large)
      continue;
    std::optional<LossForm> form = commonForm(*small, *large);
    auto reductions =
        form ? compareReductions(small->terms(*form), large->terms(*form), batchOf(function)) : std::nullopt;
    if (!reductions) {
      model.notes.push_back(kGuessed + "the loss has other terms with twice the batch");
      continue;
    }
    noteSized(*reductions, *small, *large, *form, options);
    setReductions(function, *lossOf(function), *reductions);
  }
  return llvm::Error::success();
}

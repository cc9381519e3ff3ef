#include "compiler/Driver/LossProbe.h"

#include "compiler/Driver/BatchedModel.h"
#include "compiler/Driver/Lowering.h"
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

// A divisor that is a small multiple of the batch may also be a weight: 0.5 * sum(x) with a batch of 2.
static bool mayBeWeight(double factor, int64_t batch) {
  constexpr double kLargestDivisor = 1000;
  double divisor = std::fabs(1 / factor), multiple = std::round(divisor / static_cast<double>(batch));
  return batch > 1 && multiple >= 1 && divisor <= kLargestDivisor &&
         std::fabs(divisor - multiple * static_cast<double>(batch)) <= 1e-5 * divisor;
}

// Numbers above 1 in guards may be the batch or a part of it, and so may numbers that are added to a count. A small
// number only keeps the count from being zero.
static bool mayDependOnBatch(const LossTerm &term, int64_t batch) {
  constexpr double kSmall = 1e-4;
  auto isWeight = [&](double factor) { return mayBeWeight(factor, batch); };
  auto isBatch = [](const CountGuard &guard) {
    return guard.number > (guard.kind == NumberBound::Plus ? kSmall : 1) || guard.other > 1;
  };
  return isWeight(term.factor) || llvm::any_of(term.constants, isWeight) || llvm::any_of(term.guards, isBatch) ||
         (term.count && (!term.ofSamples || batch == 1));
}

// Returns the reductions of the loss's terms. With a batch of one sample, the first form is taken in which both losses
// have the same terms and counts.
static std::optional<llvm::SmallVector<TermReduction>> compareLosses(mlir::Value loss, const SampleDependence &small,
                                                                     mlir::Value doubled, const SampleDependence &large,
                                                                     int64_t batch) {
  for (LossForm form : kLossForms) {
    LossTerms once(loss, small, form), twice(doubled, large, form);
    auto reductions = compareReductions(once, twice);
    if (batch > 1 || (reductions && countAlike(once, twice)))
      return reductions;
  }
  return std::nullopt;
}

static const std::string kGuessed =
    "whether the loss is a sum over samples or a mean is guessed from its constants, since ";

bool cleave::hasPlainMeans(mlir::ModuleOp module) {
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    std::optional<unsigned> index = lossOf(function);
    if (!index)
      continue;
    SampleDependence samples(function);
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

llvm::Error cleave::noteLossReductions(ImportedModel &model, const ImportOptions &options) {
  mlir::ModuleOp module = *model.module;
  auto doubledModel = importLarger(model, options, 2);
  if (!doubledModel) {
    model.notes.push_back(kGuessed +
                          "the model cannot be read with twice the batch: " + llvm::toString(doubledModel.takeError()));
    return llvm::Error::success();
  }
  for (mlir::ModuleOp one : {module, *doubledModel->module})
    if (llvm::Error error = cleanUp(one))
      return error;
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    auto other = doubledModel->module->lookupSymbol<mlir::func::FuncOp>(function.getSymName());
    std::optional<unsigned> index = lossOf(function);
    if (!index || !other || lossOf(other) != index)
      continue;
    SampleDependence small(function), large(other);
    if (auto reductions =
            compareLosses(valueOf(function, *index), small, valueOf(other, *index), large, batchOf(function)))
      setReductions(function, *index, *reductions);
    else
      model.notes.push_back(kGuessed + "the loss has other terms with twice the batch");
  }
  return llvm::Error::success();
}

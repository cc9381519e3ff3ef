#include "compiler/Training/Diagnose.h"
#include "compiler/Training/Loss/LossSums.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"
#include "compiler/Training/TrainingOptions.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_SPLITLOSS
#include "compiler/Training/Passes.h.inc"

namespace {

// Returns the number of the result that has `cleave.loss`. Reports an error at the function if there is none, or if it
// is not one floating-point number.
FailureOr<unsigned> findLoss(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (!function.getResultAttr(i, kLossAttr))
      continue;
    auto type = cast<RankedTensorType>(function.getResultTypes()[i]);
    if (type.getNumElements() == 1 && isa<FloatType>(type.getElementType()))
      return i;
    return function.emitError("the loss is one floating-point number; got: ") << type;
  }
  return function.emitError("training needs a loss: no result of @")
         << function.getSymName() << " carries 'cleave.loss'; name it with --loss-output";
}

SmallVector<TermReduction> knownReductions(func::FuncOp function, unsigned index) {
  SmallVector<TermReduction> reductions;
  if (auto known = function.getResultAttrOfType<ArrayAttr>(index, kLossReductionsAttr))
    for (Attribute name : known)
      if (auto text = dyn_cast<StringAttr>(name))
        if (auto reduction = parseReduction(text.getValue()))
          reductions.push_back(*reduction);
  return reductions;
}

// Returns the form for whose terms the driver has found reductions (LossProbe.cpp).
LossForm formOf(func::FuncOp function, unsigned index, Value loss, const SampleDependence &samples) {
  SmallVector<TermReduction> known = knownReductions(function, index);
  if (known.empty() || batchOf(function) > 1)
    return LossForm::Counted;
  auto found = llvm::find_if(kLossForms, [&](LossForm form) { return areOf(known, LossTerms(loss, samples, form)); });
  return found == std::end(kLossForms) ? LossForm::Counted : *found;
}

// Returns the reductions that the driver has found for the loss's terms. If there are none, they are guessed from the
// constants.
SmallVector<TermReduction> reductionsOf(func::FuncOp function, unsigned index, const LossTerms &terms) {
  SmallVector<TermReduction> reductions = knownReductions(function, index),
                             guessed = guessReductions(terms, batchOf(function));
  if (reductions.size() != guessed.size())
    return guessed;
  for (auto [reduction, guess] : llvm::zip_equal(reductions, guessed))
    reduction.count = reduction.count ? reduction.count : guess.count;
  return reductions;
}

// Returns the reduction of the loss's count: that of the first term which has one. Without any, it is Sum (splitTerms).
LossReduction countReductionOf(ArrayRef<TermReduction> reductions, const LossTerms &terms) {
  for (auto [reduction, term] : llvm::zip_equal(reductions, terms.get()))
    if (reduction.count && term.factor != 0)
      return *reduction.count;
  return LossReduction::Sum;
}

// Replaces the function's results by the results `kept`, followed by sum and count.
void setResults(func::FuncOp function, func::ReturnOp terminator, ArrayRef<unsigned> kept, LossSumAndCount split) {
  OpBuilder builder(terminator);
  SmallVector<Value> values;
  SmallVector<Attribute> attrs;
  for (unsigned i : kept) {
    values.push_back(terminator.getOperand(i));
    attrs.push_back(function.getResultAttrDict(i) ? function.getResultAttrDict(i) : builder.getDictionaryAttr({}));
  }
  llvm::append_values(values, split.sum, split.count);
  for (StringRef name : {kLossSumAttr, kLossCountAttr})
    attrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr(name, builder.getUnitAttr())));
  terminator.getOperandsMutable().assign(values);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(values).getTypes()));
  function.setAllResultAttrs(attrs);
}

// Writes how the host divides by the count of a whole evaluation, after it has added up the batches' sums. The
// attribute `cleave.evaluation` becomes properties of the plan, which runtime/train/loop/EvaluationRule.h reads.
void setEvaluation(ModuleOp module, const LossSumAndCount &loss) {
  Builder b(module.getContext());
  SmallVector<NamedAttribute> entries;
  if (!loss.guards.empty()) {
    std::string text = llvm::join(llvm::map_range(loss.guards, printGuard), ",");
    entries.push_back(b.getNamedAttr("divisor", b.getStringAttr(text)));
    if (excessOfCount(loss.countReduction, /*microBatches=*/2) != 1)
      entries.push_back(b.getNamedAttr("count", b.getStringAttr("mean")));
  }
  if (!loss.addsUp)
    entries.push_back(b.getNamedAttr("batches", b.getStringAttr("whole")));
  if (!entries.empty())
    module->setAttr(kEvaluationAttr, b.getDictionaryAttr(entries));
}

class SplitLossPass : public impl::SplitLossBase<SplitLossPass> {
public:
  using SplitLossBase::SplitLossBase;

private:
  void runOnOperation() override {
    auto average = orDiagnose(getOperation(), parseLossAverage(lossAverage));
    if (failed(average))
      return signalPassFailure();
    func::FuncOp model = lookupFunction(getOperation(), "model");
    if (!model) {
      getOperation().emitError("expected a function @model; import makes it");
      return signalPassFailure();
    }
    FailureOr<LossSumAndCount> loss = split(model, *average, /*keepOthers=*/false);
    if (failed(loss))
      return signalPassFailure();
    func::FuncOp evaluation = lookupFunction(getOperation(), "model.eval");
    setCountGuards(getOperation(), guardsOver(loss->guards, excessOfCount(loss->countReduction, microBatches)));
    if (!evaluation)
      return;
    loss = split(evaluation, LossAverage::Global, /*keepOthers=*/true);
    if (failed(loss))
      return signalPassFailure();
    // A sum from which copies of a sample are taken back needs copies that all add the same.
    loss->addsUp &= llvm::none_of(evaluation.getBody().front(), [](Operation &op) { return drawsNumbers(&op); });
    setEvaluation(getOperation(), *loss);
  }

  FailureOr<LossSumAndCount> split(func::FuncOp function, LossAverage average, bool keepOthers) {
    bool ofRanks = average == LossAverage::Rank;
    FailureOr<unsigned> index = findLoss(function);
    if (failed(index))
      return failure();
    auto terminator = cast<func::ReturnOp>(function.getBody().front().getTerminator());
    OpBuilder builder(terminator);
    Value loss = terminator.getOperand(*index);
    // In an evaluation, a normalization over the batch's samples mixes them as any other op does.
    bool isEvaluation = function.getSymName() == "model.eval";
    SampleDependence samples(function, /*normalizationMixes=*/isEvaluation);
    LossForm form = formOf(function, *index, loss, samples);
    LossTerms terms(loss, samples, form);
    SmallVector<TermReduction> reductions = reductionsOf(function, *index, terms);
    LossLayout layout;
    layout.reductions = llvm::map_to_vector(reductions, [](TermReduction reduction) { return reduction.term; });
    layout.count = countReductionOf(reductions, terms);
    layout.ranks = ofRanks ? dataRanks : 1;
    layout.microBatches = isEvaluation && lossAverage == "rank" ? 1 : microBatches; // the loss of a rank's micro-batch
    layout.batch = batchOf(function);
    layout.guardsEach = ofRanks;
    layout.isEvaluation = isEvaluation;
    hasBatch = hasBatchDims(function);
    inexact = inexactTerm(terms, reductions);
    isKnown = function.getResultAttr(*index, kLossReductionsAttr) != nullptr;
    FailureOr<LossSumAndCount> split = splitValue(builder, loss, terms, form, samples, layout);
    if (failed(split))
      return failure();
    SmallVector<unsigned> kept;
    for (unsigned i = 0; keepOthers && i < function.getNumResults(); ++i)
      if (i != *index)
        kept.push_back(i);
    setResults(function, terminator, kept, *split);
    return split;
  }

  FailureOr<LossSumAndCount> splitValue(OpBuilder &builder, Value loss, const LossTerms &terms, LossForm form,
                                        const SampleDependence &samples, const LossLayout &layout) {
    bool isUnknown = llvm::is_contained(layout.reductions, LossReduction::Unknown);
    if (isUnknown && (microBatches > 1 || layout.ranks > 1)) {
      auto error = emitError(loss.getLoc(), "a term of the loss is neither a sum over samples nor a mean (with twice "
                                            "the batch, its value is not equal, doubled or halved), so the loss of ");
      if (microBatches > 1)
        return error << int64_t(microBatches) << " micro-batches is unknown; use --micro-batches 1";
      return error << "a rank's samples is unknown; use --loss-average global";
    }
    bool isCut = layout.guardsEach && (microBatches > 1 || layout.ranks > 1);
    if (isCut && llvm::is_contained(layout.reductions, LossReduction::Share))
      return emitError(loss.getLoc(),
                       "the loss cannot be averaged per rank: a term shrinks as the batch grows, in a way "
                       "that the compiler cannot compute, so the loss of one rank's samples is "
                       "unknown; use --loss-average global");
    LossReduction reduction = layout.reductions.front();
    bool isOne = llvm::all_equal(layout.reductions) && (microBatches == 1 || reduction != LossReduction::Whole);
    std::string reason = inexact.empty() ? "it is not a sum divided by a count" : inexact;
    bool isOfRanks = layout.ranks > 1; // only sums over samples have a part for each rank
    // If elements are divided by a count before they are summed, the terms have the count, and `parts` do not.
    bool isCounted = llvm::any_of(terms.get(), [](const LossTerm &term) { return term.count && term.factor != 0; });
    std::optional<LossParts> parts = recognizeLoss(loss, samples, form);
    bool hasCount = parts && (parts->count.sum || (reduction != LossReduction::Share && !isCounted));
    bool isAveraged = parts && averagesBatches(terms, parts->count.guards, layout);
    if (hasCount && isOne && !(isAveraged && layout.isEvaluation) && !(isOfRanks && !inexact.empty()))
      if (std::optional<LossSumAndCount> split = buildLossSums(builder, *parts, reduction, samples, layout, reason)) {
        split->addsUp = inexact.empty() && reduction != LossReduction::Whole && !isUnknown;
        split->averagesBatches = isAveraged;
        noteDependence(loss, layout, *split, inexact);
        return *split;
      }
    // Without counts, the mean of the ranks' losses is the loss of all of them.
    bool isWhole = llvm::is_contained(layout.reductions, LossReduction::Whole);
    if (isOfRanks && (parts || isCounted || isWhole || !inexact.empty()))
      return emitError(loss.getLoc(), "the loss cannot be averaged per rank: ")
             << reason << "; use --loss-average global";
    LossLayout together = layout;
    together.ranks = 1;
    together.partOfSum = 1 / static_cast<double>(layout.ranks);
    reason = inexact;
    LossSumAndCount split = splitTerms(builder, loss, terms, samples, together, reason);
    split.addsUp &= inexact.empty() && !isUnknown;
    noteScaledPenalty(loss, terms, split);
    if (split.averagesBatches && layout.isEvaluation)
      emitRemark(loss.getLoc(), "an evaluation averages the loss over batches of ")
          << layout.batch << " samples, and depends on that number: "
          << (isUnknown ? "the bound on its count grows with the batch"
                        : "the loss has a guarded count, and in addition a term that every batch adds");
    noteDependence(loss, layout, split, reason);
    return split;
  }

  // A bound on the count acts on the count of the step, which is not known in one of its micro-batches.
  void noteScaledPenalty(Value loss, const LossTerms &terms, const LossSumAndCount &split) {
    auto isPenalty = [](const LossTerm &term) { return term.factor != 0 && !term.count && !term.ofSamples; };
    auto isBound = [](const CountGuard &guard) { return guard.kind != NumberBound::Plus; };
    if (microBatches > 1 && llvm::any_of(terms.get(), isPenalty) && llvm::any_of(split.guards, isBound))
      emitRemark(loss.getLoc(), "a term of the loss that depends on no sample is divided by the bounded count, as the "
                                "other terms are: in steps whose count is outside of the bound, the term counts less "
                                "than with --micro-batches 1");
  }

  void noteDependence(Value loss, const LossLayout &layout, const LossSumAndCount &split, StringRef reason) {
    if (!hasBatch)
      return; // the loss is that of all inputs
    bool isSum = isKnown && llvm::is_contained(layout.reductions, LossReduction::Sum),
         isShare = isKnown && llvm::is_contained(layout.reductions, LossReduction::Share);
    StringRef grows = "it is a sum over samples and not a mean", shrinks = "a term counts less in a larger batch";
    if (!reason.empty())
      emitRemark(loss.getLoc(), "the loss is averaged over batches of ")
          << layout.batch << " samples, and depends on that number: " << reason;
    else if (isSum && layout.guardsEach)
      emitRemark(loss.getLoc(), "the loss is averaged over batches of ")
          << layout.batch / layout.ranks << " samples, and depends on that number: " << grows
          << "; an evaluation averages it over batches of " << layout.batch << " samples";
    else if ((isSum || isShare) && !(layout.isEvaluation && lossAverage == "rank"))
      emitRemark(loss.getLoc(), "the loss is that of ")
          << layout.batch * microBatches
          << " samples, a global batch, and depends on that number: " << (isSum ? grows : shrinks)
          << (split.averagesBatches ? "" : "; an evaluation gives the average over such batches");
  }

  // Returns why the loss of all samples is not known from those of its batches, or "". A term that is switched off does
  // not matter.
  static std::string inexactTerm(const LossTerms &terms, ArrayRef<TermReduction> reductions) {
    for (auto [flag, text] : {std::pair(&TermReduction::mixes, " needs several samples together"),
                              {&TermReduction::sized, " is computed from the number of samples"}})
      for (auto [term, reduction] : llvm::zip_equal(terms.get(), reductions))
        if (term.factor != 0 && reduction.*flag)
          return nameOfTerm(terms, term) + text;
    return "";
  }

  // Of the loss that is being split: whether the reductions of its terms are known, not guessed, and inexactTerm().
  bool isKnown = false;
  std::string inexact;
  bool hasBatch = false; // of the function: some input has a batch dimension
};
} // namespace
} // namespace cleave

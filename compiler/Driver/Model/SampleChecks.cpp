#include "compiler/Driver/Model/SampleChecks.h"

#include "compiler/Driver/Model/BatchSizeUse.h"
#include "compiler/Driver/Model/BatchedModel.h"
#include "compiler/Training/Loss/SampleDependence.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "runtime/plan/Properties.h"

#include <set>

using namespace cleave;

// True if the samples of a value are known to be in another dimension than `dim`.
static bool liesElsewhere(const SampleDependence &samples, mlir::Value value, int64_t dim) {
  auto at = samples.position(value);
  return at && at->dim != dim && mlir::cast<mlir::RankedTensorType>(value.getType()).getDimSize(dim) > 1;
}

// True unless each sample of the value is known to depend on that sample only.
static bool isOfWholeBatch(const SampleDependence &samples, mlir::Value value, int64_t dim) {
  if (samples.get(value) == Dependence::None)
    return samples.variesAlong(value, dim);
  return samples.get(value) != Dependence::Each || liesElsewhere(samples, value, dim);
}

static mlir::Value outputOf(mlir::func::FuncOp function, llvm::StringRef name) {
  for (mlir::OpOperand &output : function.getBody().front().getTerminator()->getOpOperands())
    if (function.getResultAttr(output.getOperandNumber(), kNameAttr) ==
        mlir::StringAttr::get(function.getContext(), name))
      return output.get();
  return {};
}

static bool hasBatch(mlir::func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, kBatchDimAttr))
      return true;
  return false;
}

static std::optional<ImportedModel> tryLarger(const ImportedModel &model, const ImportOptions &options,
                                              int64_t factor) {
  auto larger = importLarger(model, options, factor);
  if (larger)
    return std::move(*larger);
  llvm::consumeError(larger.takeError());
  return std::nullopt;
}

std::optional<ImportedModel> cleave::importDoubled(const ImportedModel &model, const ImportOptions &options) {
  auto function = modelFunction(*model.module);
  if (!function || !hasBatch(function) || (options.train && model.guessedBatch.empty()))
    return std::nullopt;
  return tryLarger(model, options, 2);
}

// With another batch, a batch dimension has another size, and other dimensions do not. If the model cannot be imported
// with another batch (shapes that contain the batch as a number), the ops that compute the output must prove it.
llvm::Error cleave::confirmBatchDims(ImportedModel &model, const std::optional<ImportedModel> &doubled,
                                     ImportOptions &options) {
  auto function = modelFunction(*model.module);
  if (model.guessedBatch.empty() || !function)
    return llvm::Error::success();
  SampleDependence samples(function);
  for (const std::string &name : model.guessedBatch) {
    mlir::Value value = outputOf(function, name);
    auto at = samples.position(value);
    bool grows = doubled ? llvm::is_contained(doubled->guessedBatch, name)
                         : samples.get(value) == Dependence::Each && at &&
                               at->count == mlir::cast<mlir::RankedTensorType>(value.getType()).getDimSize(0);
    if (!grows || liesElsewhere(samples, value, 0))
      options.wholeOutputs.push_back(name);
  }
  if (options.wholeOutputs.empty())
    return llvm::Error::success();
  auto corrected = importAgain(*(*model.module).getContext(), model, options);
  if (!corrected)
    return corrected.takeError();
  model = std::move(*corrected);
  return llvm::Error::success();
}

// True if some input has one sample.
static bool hasOneSample(mlir::func::FuncOp function) {
  for (mlir::BlockArgument argument : function.getArguments())
    if (auto dim = function.getArgAttrOfType<mlir::IntegerAttr>(argument.getArgNumber(), kBatchDimAttr))
      if (mlir::cast<mlir::RankedTensorType>(argument.getType()).getDimSize(dim.getInt()) == 1)
        return true;
  return false;
}

// Returns the outputs that depend on the batch size. A batch of one sample has forms of its own (x * 1 is x, and a
// value of one element is not broadcast). Then two larger batches are compared, too. An output about which no
// comparison gives an answer counts as depending on the size, because the ops that compute it change with the batch.
static std::set<std::string> sizedOutputs(const ImportedModel &model, const ImportedModel &doubled,
                                          const ImportOptions &options) {
  std::map<std::string, SizeUse> uses = findBatchSizeUse(model, doubled);
  bool isUnknown = llvm::any_of(uses, [](const auto &use) { return use.second == SizeUse::Unknown; });
  std::optional<ImportedModel> tripled;
  if (isUnknown && hasOneSample(modelFunction(*model.module)))
    tripled = tryLarger(model, options, 3);
  if (tripled)
    for (const auto &[name, use] : findBatchSizeUse(doubled, *tripled))
      if (auto found = uses.find(name);
          found != uses.end() && (found->second == SizeUse::Unknown || use == SizeUse::Yes))
        found->second = use;
  std::set<std::string> sized;
  for (const auto &[name, use] : uses)
    if (use != SizeUse::No)
      sized.insert(name);
  return sized;
}

// Returns the outputs with a batch dimension whose samples depend, or may depend, on other samples.
static std::set<std::string> outputsOfWholeBatch(const ImportedModel &model) {
  std::set<std::string> names;
  auto function = modelFunction(*model.module);
  if (!function)
    return names;
  SampleDependence samples(function, /*normalizationMixes=*/true);
  for (mlir::OpOperand &output : function.getBody().front().getTerminator()->getOpOperands()) {
    auto dim = function.getResultAttrOfType<mlir::IntegerAttr>(output.getOperandNumber(), kBatchDimAttr);
    if (auto name = function.getResultAttrOfType<mlir::StringAttr>(output.getOperandNumber(), kNameAttr))
      if (dim && isOfWholeBatch(samples, output.get(), dim.getInt()))
        names.insert(name.getValue().str());
  }
  return names;
}

static std::vector<std::string> batchedOutputs(const ImportedModel &model) {
  std::vector<std::string> names;
  auto function = modelFunction(*model.module);
  for (unsigned i = 0; function && i < function.getNumResults(); ++i)
    if (auto name = function.getResultAttrOfType<mlir::StringAttr>(i, kNameAttr);
        name && function.getResultAttr(i, kBatchDimAttr))
      names.push_back(name.getValue().str());
  return names;
}

// The doubled model is tested, too, because an op that mixes samples may have no effect for this batch. A mean over one
// sample is that sample, and a view of [n, 4] as [4, n] does nothing for four samples. If the model cannot be imported
// with twice the batch, every output counts as depending on the batch size.
std::map<std::string, std::string> cleave::mixedOutputs(const ImportedModel &model,
                                                        const std::optional<ImportedModel> &doubled,
                                                        const ImportOptions &options) {
  std::map<std::string, std::string> mixed;
  std::set<std::string> ofSamples = outputsOfWholeBatch(model), ofSize;
  if (doubled) {
    ofSamples.merge(outputsOfWholeBatch(*doubled));
    ofSize = sizedOutputs(model, *doubled, options);
  }
  for (const std::string &name : batchedOutputs(model))
    mixed[rt::kMixesProperties.of(name)] = ofSamples.count(name)            ? "samples"
                                           : !doubled || ofSize.count(name) ? "size"
                                                                            : "nothing";
  return mixed;
}

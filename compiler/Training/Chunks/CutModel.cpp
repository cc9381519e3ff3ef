#include "compiler/CostModel/CostModel.h"
#include "compiler/Support/NamePatterns.h"
#include "compiler/Training/Chunks/BuildChunks.h"
#include "compiler/Training/Diagnose.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_CUTMODEL
#define GEN_PASS_DEF_REQUESTSTAGES
#include "compiler/Training/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral kOption = "--stage-split";

class RequestStagesPass : public impl::RequestStagesBase<RequestStagesPass> {
public:
  using RequestStagesBase::RequestStagesBase;

private:
  void runOnOperation() override {
    Builder builder(&getContext());
    getOperation()->setAttr(kStagesAttr, builder.getI64IntegerAttr(stages));
    getOperation()->setAttr(kStageSplitAttr, builder.getStringAttr(split));
    if (splitBackward)
      getOperation()->setAttr(kSplitBackwardAttr, builder.getUnitAttr());
  }
};

class CutModelPass : public impl::CutModelBase<CutModelPass> {
public:
  using CutModelBase::CutModelBase;

private:
  void runOnOperation() override {
    auto requested = getOperation()->getAttrOfType<IntegerAttr>(kStagesAttr);
    auto requestedSplit = getOperation()->getAttrOfType<StringAttr>(kStageSplitAttr);
    int64_t count = stages == 0 && requested ? requested.getInt() : stages;
    std::string how = stages == 0 && requestedSplit ? requestedSplit.str() : split;
    getOperation()->removeAttr(kStagesAttr);
    getOperation()->removeAttr(kStageSplitAttr);
    if (count == 0 || count == 1)
      return;
    func::FuncOp model = lookupFunction(getOperation(), "model");
    if (!model || model.getNumResults() < 2 || !model.getResultAttr(model.getNumResults() - 2, kLossSumAttr)) {
      getOperation().emitError("expected a function @model with the two results of split-loss");
      return signalPassFailure();
    }
    ModelGraph graph(model, microBatches);
    auto request = requestOf(model, graph, count, how);
    if (!request)
      return fail(request.takeError());
    setLimit(*request);
    pipeline::Result<pipeline::Cut> cut = pipeline::cutGraph(graph.graph, *request);
    if (!cut)
      return fail(usageError(kOption, cut.message()));
    noteBytes(*cut);
    noteIdleStages(graph.graph, *cut);
    buildChunks(model, graph, *cut);
  }

  // A stage without parameters computes little, but still receives values and sends them on. The user may want it, so
  // it is not an error.
  void noteIdleStages(const pipeline::CutGraph &graph, const pipeline::Cut &cut) {
    if (graph.stateBytes.empty() || getOperation()->hasAttr(kStageBytesAttr)) // the cut is only a trial
      return;
    std::vector<std::string> idle;
    for (auto [number, stage] : llvm::enumerate(cut.stages))
      if (std::all_of(graph.nodes.begin() + stage.begin, graph.nodes.begin() + stage.end,
                      [](const pipeline::CutNode &node) { return node.states.empty(); }))
        idle.push_back(std::to_string(number));
    constexpr size_t kShown = 8;
    std::string names = llvm::join(llvm::ArrayRef(idle).take_front(kShown), ", ");
    if (idle.size() > kShown)
      names += " and " + std::to_string(idle.size() - kShown) + " more";
    if (!idle.empty())
      getOperation()->emitRemark((idle.size() == 1 ? "stage " : "stages ") + names + " of " +
                                 std::to_string(cut.stages.size()) + " of the pipeline (counted from 0) " +
                                 (idle.size() == 1 ? "has" : "have") +
                                 " no parameters and little to compute: fewer stages may be faster");
  }

  // For the driver, which compares these bytes with those that the plan needs (compiler/Driver/Memory/StageFit.h).
  void noteBytes(const pipeline::Cut &cut) {
    if (!getOperation()->hasAttr(kStageBytesAttr))
      return;
    llvm::SmallVector<int64_t> bytes, begins;
    for (const pipeline::CutStage &stage : cut.stages) {
      bytes.append({stage.states, stage.activations});
      begins.push_back(stage.begin);
    }
    Builder builder(&getContext());
    getOperation()->setAttr(kStageBytesAttr, builder.getDenseI64ArrayAttr(bytes));
    getOperation()->setAttr(kStageBeginsAttr, builder.getDenseI64ArrayAttr(begins));
  }

  // Applies the results of cuts that the driver has tried before.
  void setLimit(pipeline::CutRequest &request) {
    if (auto limit = getOperation()->getAttrOfType<IntegerAttr>(kStageLimitAttr))
      request.memoryLimit = limit.getInt();
    if (auto scales = getOperation()->getAttrOfType<DenseF64ArrayAttr>(kStageScalesAttr))
      for (int64_t i = 0; i + 1 < scales.size(); i += 2)
        request.scales.push_back({scales[i], scales[i + 1]});
    if (auto begins = getOperation()->getAttrOfType<DenseI64ArrayAttr>(kStageBeginsAttr))
      for (int64_t begin : begins.asArrayRef().drop_front())
        request.boundaries.push_back(static_cast<int>(begin));
    for (StringRef name : {kStageLimitAttr, kStageScalesAttr, kStageBeginsAttr})
      getOperation()->removeAttr(name);
  }

  void fail(llvm::Error error) {
    (void)diagnose(getOperation(), std::move(error));
    signalPassFailure();
  }

  llvm::Expected<pipeline::CutRequest> requestOf(func::FuncOp model, const ModelGraph &graph, int64_t count,
                                                 StringRef how) {
    pipeline::CutRequest request;
    request.stages = static_cast<int>(std::clamp<int64_t>(count, -1, std::numeric_limits<int>::max()));
    request.together = graph.together;
    // The time to send a byte, and the byte of its gradient back, in the cost model.
    request.transferCost = 2.0 / Machine().linkBytesPerSecond;
    pinLoss(model, graph, request);
    if (llvm::Error error = setMode(graph, how, request))
      return error;
    if (llvm::Error error = setBoundaries(graph, boundaries, request))
      return error;
    if (llvm::Error error = setPins(graph, pins, request))
      return error;
    return request;
  }

  // Sum and count are results of the last chunk. So no stage begins between the first of them and the model's end. This
  // also limits the number of stages.
  static void pinLoss(func::FuncOp model, const ModelGraph &graph, pipeline::CutRequest &request) {
    int last = static_cast<int>(graph.graph.nodes.size()) - 1;
    for (Value value : model.getBody().front().getTerminator()->getOperands())
      if (auto node = graph.nodeOf.find(value.getDefiningOp()); value.getDefiningOp() && node != graph.nodeOf.end()) {
        request.pins.emplace_back(node->second, request.stages - 1);
        request.together.emplace_back(node->second, last);
      }
  }

  // Parses a measure, which pins of the user may follow: "auto,head.weight=1".
  llvm::Error setMode(const ModelGraph &graph, StringRef text, pipeline::CutRequest &request) {
    auto [measure, ofUser] = text.split(',');
    if (measure == "auto" || measure == "uniform" || measure == "parameters") {
      if (text.contains(','))
        if (llvm::Error error = setPins(graph, llvm::split(ofUser, ','), request))
          return error;
      text = measure;
    }
    if (text == "auto")
      request.mode = pipeline::CutMode::Auto;
    else if (text == "uniform")
      request.mode = pipeline::CutMode::Uniform;
    else if (text == "parameters")
      request.mode = pipeline::CutMode::Parameters;
    else if (text.consume_front("pattern="))
      return setPattern(graph, text, request);
    else if (text.consume_front("at="))
      return setNamedBoundaries(graph, text, request);
    else
      return usageError(kOption,
                        "expected auto, uniform, parameters, pattern=P[|P...] or at=NAME[|NAME...]; got: " + text);
    return llvm::Error::success();
  }

  llvm::Error setPattern(const ModelGraph &graph, StringRef text, pipeline::CutRequest &request) {
    std::vector<std::string> texts;
    for (StringRef pattern : llvm::split(text, '|'))
      texts.push_back(pattern.str());
    auto patterns = NamePatterns::parse(kOption, texts);
    if (!patterns)
      return patterns.takeError();
    for (const auto &ofNode : graph.namesOf)
      request.isMatched.push_back(llvm::any_of(ofNode, [&](const std::string &name) { return patterns->match(name); }));
    request.mode = pipeline::CutMode::Pattern;
    return patterns->checkUsed(namesIn(graph), "parameters and operations");
  }

  static std::vector<std::string> namesIn(const ModelGraph &graph) {
    std::vector<std::string> names;
    for (const auto &ofNode : graph.namesOf)
      llvm::append_range(names, ofNode);
    return names;
  }

  // Returns the nodes that use the parameter `name`, or that have this name in the file.
  llvm::Expected<llvm::SmallVector<int>> nodesOf(const ModelGraph &graph, StringRef name) {
    llvm::SmallVector<int> nodes;
    for (auto [number, names] : llvm::enumerate(graph.namesOf))
      if (llvm::is_contained(names, name))
        nodes.push_back(static_cast<int>(number));
    if (nodes.empty())
      return usageError(kOption,
                        "the model has no parameter or operation '" + name + "'; it has " + firstNames(namesIn(graph)));
    return nodes;
  }

  // `names` are those of the nodes that stages 1, 2, ... begin with.
  template <typename Names>
  llvm::Error setBoundaries(const ModelGraph &graph, const Names &names, pipeline::CutRequest &request) {
    for (StringRef name : names) {
      auto nodes = nodesOf(graph, name);
      if (!nodes)
        return nodes.takeError();
      request.boundaries.push_back(nodes->front());
    }
    return llvm::Error::success();
  }

  // `text` is "NAME[|NAME...]" of at=.
  llvm::Error setNamedBoundaries(const ModelGraph &graph, StringRef text, pipeline::CutRequest &request) {
    if (llvm::Error error = setBoundaries(graph, llvm::split(text, '|'), request))
      return error;
    size_t named = request.boundaries.size(), stages = static_cast<size_t>(std::max(request.stages, 1));
    if (named + 1 == stages)
      return llvm::Error::success();
    return usageError(kOption, "at= names " + std::to_string(named) + (named == 1 ? " boundary" : " boundaries") +
                                   " for " + std::to_string(named + 1) + " stages; --mesh and --schedule ask for " +
                                   std::to_string(stages) + ": name " + std::to_string(stages - 1));
  }

  template <typename Texts>
  llvm::Error setPins(const ModelGraph &graph, const Texts &texts, pipeline::CutRequest &request) {
    for (StringRef text : texts) {
      auto [name, stage] = text.rsplit('=');
      int number = 0;
      if (stage.getAsInteger(10, number))
        return usageError(kOption, "expected a pin NAME=STAGE, with a stage from 0 to " +
                                       std::to_string(request.stages - 1) + "; got: " + text);
      if (number < 0 || number >= request.stages)
        return usageError(kOption, text + ": there is no stage " + std::to_string(number) + "; stages are 0 to " +
                                       std::to_string(request.stages - 1));
      auto nodes = nodesOf(graph, name);
      if (!nodes)
        return nodes.takeError();
      for (int node : *nodes)
        request.pins.emplace_back(node, number);
    }
    return llvm::Error::success();
  }
};

} // namespace
} // namespace cleave

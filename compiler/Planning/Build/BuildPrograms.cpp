// build-programs: see Passes.td.
#include "compiler/Planning/Build/InferenceStages.h"
#include "compiler/Planning/Build/StageCalls.h"
#include "compiler/Planning/Build/StagePrograms.h"
#include "compiler/Planning/Passes.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/RankKinds.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace cleave::plan {

#define GEN_PASS_DEF_BUILDPROGRAMS
#include "compiler/Planning/Passes.h.inc"

namespace {

// The channels of activations, of gradients, and of values that cross stages in the update, in evaluation and in
// inference.
enum Channels : int64_t { kActivations, kGradients, kBetween };

// Finishes a function that a stage's ranks start. Arguments that it does not read need no bytes.
void finishEntry(func::FuncOp entry) {
  UnitAttr yes = UnitAttr::get(entry.getContext());
  entry->setAttr(kEntryAttr, yes);
  for (BlockArgument argument : entry.getArguments())
    if (argument.use_empty())
      entry.setArgAttr(argument.getArgNumber(), kAbsentAttr, yes);
}

// True if the value is left in host memory.
bool isOffloaded(Value value) { return throughReshapes(value).getDefiningOp<OffloadOp>() != nullptr; }

// A port that no stage reads belongs to the last stage: some kind of ranks must have each port of an entry
// (checkPresence in RankKinds.cpp), as one rank has it without stages.
void keepUnreadPorts(ArrayRef<ModuleOp> kinds) {
  ModuleOp last = kinds.back();
  for (auto entry : last.getOps<func::FuncOp>())
    for (unsigned i = 0; entry->hasAttr(kEntryAttr) && i < entry.getNumArguments(); ++i)
      if (llvm::all_of(kinds, [&](ModuleOp kind) {
            return kind.lookupSymbol<func::FuncOp>(entry.getName()).getArgAttr(i, kAbsentAttr) != nullptr;
          }))
        entry.removeArgAttr(i, kAbsentAttr);
}

void eraseOthersStates(ModuleOp module, const StateStages &states, unsigned stage) {
  for (auto state : llvm::make_early_inc_range(module.getOps<cleave::StateOp>()))
    if (auto known = states.find(state.getSymName()); known != states.end() && !known->second.test(stage))
      state.erase();
}

// Reduces a copy of the module, which is for all stages, to the module of one stage.
class StageBuilder {
public:
  StageBuilder(ModuleOp module, const PipelineDescription &description, const StageCalls &list, unsigned stage)
      : module(module), description(description), list(list), stage(stage),
        builder(OpBuilder::atBlockEnd(module.getBody())) {}

  void build(const llvm::StringMap<std::unique_ptr<StageSplit>> &splits, const StateStages &states,
             ArrayRef<std::pair<DictionaryAttr, Type>> inputs) {
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (chunkNumber(function.getName())) {
        if (list.uses.count(function.getName().str()))
          finishBody(function);
        else
          function.erase();
      } else if (auto split = splits.find(function.getName()); split != splits.end()) {
        split->second->specialize(function, stage, kBetween);
      }
    for (const auto &[name, transfer] : list.transfers)
      buildTransfer(name, transfer);
    FoldedCalls folded = foldCalls(list.calls);
    for (const auto &[name, calls] : folded.loops)
      finish(begin(name))->setAttr(kCallsAttr, callsAttr(calls));
    buildStep(folded, inputs);
    if (auto evaluate = module.lookupSymbol<func::FuncOp>("evaluate"))
      finishEntry(evaluate);
    eraseOthersStates(module, states, stage);
  }

private:
  func::FuncOp begin(StringRef name) {
    builder.setInsertionPointToEnd(module.getBody());
    auto function = func::FuncOp::create(builder, module.getLoc(), name, builder.getFunctionType({}, {}));
    builder.setInsertionPointToEnd(function.addEntryBlock());
    return function;
  }
  func::FuncOp finish(func::FuncOp function) {
    func::ReturnOp::create(builder, module.getLoc());
    return function;
  }

  ArrayAttr callsAttr(ArrayRef<FoldedCall> calls) {
    return builder.getArrayAttr(llvm::map_to_vector(calls, [&](const FoldedCall &call) -> Attribute {
      NamedAttrList fields;
      fields.set("program", builder.getStringAttr(call.program));
      fields.set("times", builder.getI64IntegerAttr(call.times));
      fields.set("first_frame", builder.getI64IntegerAttr(call.first));
      if (call.stride != 1)
        fields.set("skip", builder.getI64IntegerAttr(call.stride - 1));
      return fields.getDictionary(builder.getContext());
    }));
  }

  // Names the stage buffers and the events of a body. Marks the ops of a backward pass, because gathers are planned by
  // this mark.
  void finishBody(func::FuncOp function) {
    std::string name = function.getName().str();
    for (BlockArgument argument : function.getArguments())
      if (auto input = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr))
        taken.insert(input);
    // All ports are set at once, because each change of one port makes a new list of all.
    llvm::SmallVector<DictionaryAttr> arguments, results;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      NamedAttrList port(function.getArgAttrDict(i));
      if (std::string stageBuffer = stageBufferOfArgument(function, i); !stageBuffer.empty()) {
        OpOperand *source = sourceOf(function.getArgument(i));
        nameStageBuffer(port, stageBuffer, source && isOffloaded(source->get()));
      }
      arguments.push_back(port.getDictionary(builder.getContext()));
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      NamedAttrList port(function.getResultAttrDict(i));
      nameStageBuffer(port, stageBufferOfResult(function, i),
                      isOffloaded(function.getBody().front().getTerminator()->getOperand(i)));
      results.push_back(port.getDictionary(builder.getContext()));
    }
    function.setAllArgAttrs(arguments);
    function.setAllResultAttrs(results);
    if (isBackward(function))
      for (Operation &op : function.getBody().front().without_terminator())
        if (isa<shard::ShardDialect>(op.getDialect()) || isa<cleave::KernelOp, ComputeOpInterface>(op))
          op.setAttr(kBackwardAttr, builder.getUnitAttr());
    function->removeAttr(kBackwardOfAttr);
    setEvents(function, list.uses.at(name), name);
  }

  void nameStageBuffer(NamedAttrList &port, const std::string &stageBuffer, bool isHost) {
    port.erase(kResidualAttr);
    port.erase(kEdgeAttr);
    if (isHost)
      port.set(kStageBufferHostAttr, builder.getUnitAttr());
    port.set(kStageBufferAttr, builder.getStringAttr(stageBuffer));
    port.set(kFramesAttr, isHost ? hostFramesAttr(stageBuffer) : framesAttr(stageBuffer));
  }

  IntegerAttr framesAttr(const std::string &stageBuffer) {
    return builder.getI64IntegerAttr(list.stageBuffers.at(stageBuffer).frames);
  }

  // A host region without frames belongs to one program, and no value crosses bodies in it (Bodies.h). So it has at
  // least two.
  IntegerAttr hostFramesAttr(const std::string &stageBuffer) {
    return builder.getI64IntegerAttr(std::max(2, list.stageBuffers.at(stageBuffer).frames));
  }

  // True if a frame is used twice in a step: there are fewer frames than micro-batches.
  bool isReused(const std::string &stageBuffer) const {
    return list.stageBuffers.at(stageBuffer).frames < description.microBatches;
  }

  Attribute eventEntry(const std::string &event, const std::string &stageBuffer, int64_t frame) {
    return builder.getDictionaryAttr({builder.getNamedAttr("event", builder.getStringAttr(event)),
                                      builder.getNamedAttr("frames", framesAttr(stageBuffer)),
                                      builder.getNamedAttr("frame", builder.getI64IntegerAttr(frame)),
                                      builder.getNamedAttr("stage_buffer", builder.getStringAttr(stageBuffer))});
  }

  void setEvents(func::FuncOp function, const StageBufferUses &uses, const std::string &name) {
    llvm::SmallVector<Attribute> waits, records;
    for (const std::string &stageBuffer : uses.reads) {
      const StageBuffer &info = list.stageBuffers.at(stageBuffer);
      if (list.received.count(stageBuffer) && info.firstReaders.count(name))
        waits.push_back(eventEntry("arrived " + stageBuffer, stageBuffer, 0));
      if (list.received.count(stageBuffer) && info.lastReaders.count(name) && isReused(stageBuffer))
        records.push_back(eventEntry("used " + stageBuffer, stageBuffer, 0));
    }
    for (const std::string &stageBuffer : uses.writes) {
      if (!list.sent.count(stageBuffer))
        continue;
      records.push_back(eventEntry("made " + stageBuffer, stageBuffer, 0));
      for (const auto &[program, transfer] : list.transfers)
        if (transfer.isSend && transfer.stageBuffer == stageBuffer && isReused(stageBuffer))
          waits.push_back(
              eventEntry(StageCalls::sentEvent(transfer), stageBuffer, -list.stageBuffers.at(stageBuffer).frames));
    }
    function->setAttr(kWaitsAttr, builder.getArrayAttr(waits));
    function->setAttr(kRecordsAttr, builder.getArrayAttr(records));
  }

  void buildTransfer(StringRef name, const StageCalls::Transfer &transfer) {
    Type type = description.typeOf.lookup(transfer.stageBuffer);
    const std::string &stageBuffer = transfer.stageBuffer;
    DictionaryAttr port =
        builder.getDictionaryAttr({builder.getNamedAttr(kStageBufferAttr, builder.getStringAttr(stageBuffer)),
                                   builder.getNamedAttr(kFramesAttr, framesAttr(stageBuffer))});
    int64_t here = stage, peer = transfer.peer;
    Crossed crossed{transfer.isSend ? here : peer, transfer.isSend ? peer : here,
                    transfer.isGradient ? kGradients : kActivations, description.tensorOf.lookup(stageBuffer)};
    func::FuncOp function = begin(name);
    std::string stream = transfer.isSend ? "send" : "recv";
    function->setAttr(kTransferAttr, builder.getStringAttr(stream + (transfer.isGradient ? ".gradient" : "")));
    llvm::SmallVector<Attribute> waits, records;
    if (transfer.isSend) {
      (void)function.insertArgument(0, type, port, module.getLoc());
      createSend(builder, function.getArgument(0), description.axis, crossed);
      finish(function);
      waits.push_back(eventEntry("made " + stageBuffer, stageBuffer, 0));
      if (isReused(stageBuffer))
        records.push_back(eventEntry(StageCalls::sentEvent(transfer), stageBuffer, 0));
    } else {
      Value received = createReceive(builder, module.getLoc(), type, description.axis, crossed);
      func::ReturnOp::create(builder, module.getLoc(), received);
      function.setFunctionType(builder.getFunctionType({}, type));
      function.setResultAttrs(0, port);
      if (isReused(stageBuffer))
        waits.push_back(eventEntry("used " + stageBuffer, stageBuffer, -list.stageBuffers.at(stageBuffer).frames));
      records.push_back(eventEntry("arrived " + stageBuffer, stageBuffer, 0));
    }
    function->setAttr(kWaitsAttr, builder.getArrayAttr(waits));
    function->setAttr(kRecordsAttr, builder.getArrayAttr(records));
  }

  // Builds the step: all calls, then the update.
  void buildStep(const FoldedCalls &folded, ArrayRef<std::pair<DictionaryAttr, Type>> inputs) {
    func::FuncOp step = begin("train_step");
    for (auto [attributes, type] : inputs) {
      NamedAttrList port(attributes);
      if (!taken.contains(attributes.getAs<StringAttr>(kNameAttr)))
        port.set(kAbsentAttr, builder.getUnitAttr());
      (void)step.insertArgument(step.getNumArguments(), type, port.getDictionary(builder.getContext()),
                                module.getLoc());
    }
    auto update = module.lookupSymbol<func::FuncOp>("update");
    IRMapping mapping;
    for (Operation &op : update.getBody().front().without_terminator())
      builder.clone(op, mapping);
    update.erase();
    finish(step)->setAttr(kCallsAttr, callsAttr(folded.calls));
    step->setAttr(kEntryAttr, builder.getUnitAttr());
  }

  ModuleOp module;
  const PipelineDescription &description;
  const StageCalls &list;
  unsigned stage;
  OpBuilder builder;
  llvm::DenseSet<StringAttr> taken; // inputs that bodies of the stage use
};

struct BuildPrograms : impl::BuildProgramsBase<BuildPrograms> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(kPipelineAttr))
      return;
    if (getOperation().getOps<shard::GridOp>().empty()) { // stages send along its axes
      getOperation().emitError("expected a module of the sharded level, with a `shard.grid`; run --partition first");
      return signalPassFailure();
    }
    bool isInference = getOperation().lookupSymbol<func::FuncOp>("infer") != nullptr;
    if (failed(isInference ? buildInference() : build()))
      signalPassFailure();
  }

  LogicalResult build() {
    ModuleOp module = getOperation();
    FailureOr<PipelineDescription> read = readPipeline(module);
    if (failed(read))
      return failure();
    const PipelineDescription &description = *read;
    auto update = module.lookupSymbol<func::FuncOp>("update");
    if (!update)
      return module.emitError("expected chunks and an @update");
    std::vector<StageCalls> lists;
    std::vector<std::vector<pipeline::Item>> items = pipeline::itemsOf(description.schedule, description.graph);
    for (unsigned stage = 0; stage < description.axis.stages; ++stage)
      if (lists.emplace_back(module, description); failed(lists.back().build(items[stage])))
        return failure();
    if (failed(checkStates(description)))
      return failure();
    StateStages states = locateStates(description);
    llvm::StringMap<std::unique_ptr<StageSplit>> splits;
    for (StringRef name : {"update", "evaluate"})
      if (auto function = module.lookupSymbol<func::FuncOp>(name)) {
        splits[name] = std::make_unique<StageSplit>(function, description.axis);
        splits[name]->place(states);
      }
    auto inputs = inputsOf(description);
    makeKinds(description.axis, description.axisName, [&](ModuleOp kind, unsigned stage) {
      StageBuilder(kind, description, lists[stage], stage).build(splits, states, inputs);
    });
    return success();
  }

  // Builds inference, which is one pass through the stages.
  LogicalResult buildInference() {
    ModuleOp module = getOperation();
    StringRef axisName;
    FailureOr<StageAxis> axis = readStageAxis(module, &axisName);
    if (failed(axis))
      return failure();
    auto infer = module.lookupSymbol<func::FuncOp>("infer");
    StateStages states = locateByCost(infer, *axis);
    if (failed(checkNoneIdle(infer, *axis, states)))
      return failure();
    StageSplit split(infer, *axis);
    split.place(states);
    for (auto state : module.getOps<cleave::StateOp>())
      if (auto known = states.find(state.getSymName()); known == states.end() || known->second.count() > 1)
        state->setAttr(kSharedAttr, UnitAttr::get(&getContext()));
    makeKinds(*axis, axisName, [&](ModuleOp kind, unsigned stage) {
      auto function = kind.lookupSymbol<func::FuncOp>("infer");
      split.specialize(function, stage, kBetween);
      finishEntry(function);
      eraseOthersStates(kind, states, stage);
    });
    return success();
  }

  // Copies the module for each stage, and `specialize` reduces each copy to its stage. The first stage gets the module
  // itself.
  void makeKinds(StageAxis axis, StringRef axisName, llvm::function_ref<void(ModuleOp, unsigned)> specialize) {
    ModuleOp module = getOperation();
    module->removeAttr(kPipelineAttr);
    llvm::SmallVector<ModuleOp> kinds{module};
    for (unsigned stage = 1; stage < axis.stages; ++stage)
      kinds.push_back(module.clone());
    // The first stage comes last: what is known of the module for all stages refers to its ops.
    for (unsigned stage = axis.stages; stage-- > 0;) {
      std::string name = "stage" + std::to_string(stage);
      kinds[stage]->setAttr(kKindAttr, RankKind::makeEntry(&getContext(), name, {{axisName, stage, stage + 1}}));
      specialize(kinds[stage], stage);
    }
    keepUnreadPorts(kinds);
    for (unsigned stage = 1; stage < axis.stages; ++stage) {
      kinds[stage].setSymName("stage" + std::to_string(stage));
      module.push_back(kinds[stage]);
    }
  }

  // Schedules keep the order of a chunk's forward passes, and the order of its backward passes, but not the order
  // between the two. So a state that one of the two changes must not be used by the other. Gathering functions run
  // before both.
  LogicalResult checkStates(const PipelineDescription &description) {
    llvm::StringMap<std::string> changedBy; // a chunk's passes, "c0.bwd"
    auto passOf = [](func::FuncOp function) {
      return function.getName().split('.').first.str() + (isBackward(function) ? ".bwd" : ".fwd");
    };
    for (func::FuncOp function : description.functions)
      if (!function.getName().ends_with(kGatherSuffix))
        function.walk([&](WriteOp write) { changedBy.try_emplace(write.getState(), passOf(function)); });
    for (func::FuncOp function : description.functions)
      for (Operation &op : function.getBody().front()) {
        auto read = dyn_cast<ReadOp>(op);
        auto write = dyn_cast<WriteOp>(op);
        StringRef state = read ? read.getState() : write ? write.getState() : StringRef();
        auto found = changedBy.find(state);
        if (found != changedBy.end() && found->second != passOf(function))
          return op.emitError("state @") << state << " is changed by @" << found->second << " and used by @"
                                         << function.getName() << ", whose order is not the same in all schedules";
      }
    return success();
  }

  // A chunk's states lie on its stage. States that only the host writes, one number each, lie on all stages.
  StateStages locateStates(const PipelineDescription &description) {
    StateStages states;
    llvm::StringSet<> isWritten;
    getOperation().walk([&](WriteOp write) { isWritten.insert(write.getState()); });
    auto add = [&](StringRef state, func::FuncOp function) {
      states.try_emplace(state, description.axis.stages).first->second.set(description.stageOf(function));
    };
    for (func::FuncOp function : description.functions) {
      function.walk([&](ReadOp read) { add(read.getState(), function); });
      function.walk([&](WriteOp write) { add(write.getState(), function); });
    }
    for (auto state : getOperation().getOps<cleave::StateOp>())
      if (state.getRole() == cleave::Role::Scalar && !isWritten.contains(state.getSymName()))
        states[state.getSymName()] = StageSet(description.axis.stages, true);
    return states;
  }

  // Returns the model's inputs, each once.
  static llvm::SmallVector<std::pair<DictionaryAttr, Type>> inputsOf(const PipelineDescription &description) {
    llvm::MapVector<StringAttr, std::pair<DictionaryAttr, Type>> inputs;
    for (func::FuncOp function : description.functions)
      for (BlockArgument argument : function.getArguments())
        if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr))
          inputs.insert({name, {function.getArgAttrDict(argument.getArgNumber()), argument.getType()}});
    return llvm::map_to_vector(inputs, [](const auto &input) { return input.second; });
  }
};

} // namespace
} // namespace cleave::plan

// build-programs: see Passes.td.
#include "compiler/Pipeline/Check.h"
#include "compiler/Pipeline/Items.h"
#include "compiler/Pipeline/ScheduleFile.h"
#include "compiler/Pipeline/Schedules.h"
#include "compiler/Planning/Passes.h"
#include "compiler/Planning/StageLists.h"
#include "compiler/Planning/StagePrograms.h"
#include "compiler/Planning/StageSplit.h"
#include "dialects/Cleave/IR/Kinds.h"
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

// Of activations, of gradients, and of what crosses in the update and in evaluation.
enum Channels : int64_t { kActivations, kGradients, kBetween };

std::string slotOf(func::FuncOp function, StringRef edge, std::optional<int64_t> residual) {
  if (!edge.empty())
    return edge.str();
  return chunkName(*chunkNumber(function.getName())) + ".r" + std::to_string(*residual);
}

// Empty for a model's input.
std::string slotOfArgument(func::FuncOp function, unsigned index) {
  auto residual = function.getArgAttrOfType<IntegerAttr>(index, "cleave.residual");
  StringRef edge = edgeOfArgument(function, index);
  if (!residual && edge.empty())
    return "";
  return slotOf(function, edge, residual ? std::optional<int64_t>(residual.getInt()) : std::nullopt);
}

std::string slotOfResult(func::FuncOp function, unsigned index) {
  return slotOf(function, edgeOfResult(function, index), index);
}

SlotUses usesOf(func::FuncOp function) {
  SlotUses uses;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (std::string slot = slotOfArgument(function, i); !slot.empty())
      uses.reads.push_back(slot);
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    uses.writes.push_back(slotOfResult(function, i));
  return uses;
}

// The value of an edge of the chunk graph, by its name, and of the gradient that comes back; empty where none does.
struct EdgeNames {
  std::string value, gradient;
};

// The pipeline as its module in kernels form says it.
struct PipelineSteps {
  StageAxis axis;
  StringRef axisName;
  int microBatches = 1;
  llvm::SmallVector<func::FuncOp> functions; // of chunks
  llvm::StringMap<Type> typeOf;              // of edges and gradients
  pipeline::ChunkGraph graph;
  std::vector<EdgeNames> edges; // of the graph
  pipeline::Schedule schedule;

  unsigned stageOf(func::FuncOp function) const { return schedule.rankOfChunk[*chunkNumber(function.getName())]; }
};

class PipelineReader {
public:
  explicit PipelineReader(ModuleOp module) : module(module) {}

  LogicalResult read() {
    auto request = module->getAttrOfType<DictionaryAttr>(kPipelineAttr);
    auto mesh = module->getAttrOfType<MeshAttr>("cleave.mesh");
    auto axis = request.getAs<StringAttr>("axis");
    auto count = module->getAttrOfType<IntegerAttr>("cleave.micro_batches");
    if (!mesh || !axis || !request.getAs<StringAttr>("schedule") || mesh.getIndex(axis) < 0)
      return module.emitError("expected a schedule and an axis of cleave.mesh in cleave.pipeline; got: ") << request;
    steps.axisName = axis.getValue();
    steps.axis = {static_cast<int16_t>(mesh.getIndex(axis)), static_cast<unsigned>(mesh.getSize(axis))};
    steps.microBatches = count ? static_cast<int>(count.getInt()) : 1;
    for (auto function : module.getOps<func::FuncOp>())
      if (chunkNumber(function.getName()))
        steps.functions.push_back(function);
    readEdges();
    return makeSchedule(request);
  }

  PipelineSteps steps;

private:
  void readEdges() {
    llvm::StringMap<unsigned> maker;
    llvm::MapVector<StringRef, std::set<unsigned>> users;
    for (func::FuncOp function : steps.functions)
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        if (StringRef edge = edgeOfResult(function, i); !edge.empty()) {
          steps.typeOf[edge] = function.getResultTypes()[i];
          maker[edge] = *chunkNumber(function.getName());
          if (!isBackward(function))
            users[edge];
        }
    for (func::FuncOp function : steps.functions)
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (auto edge = users.find(edgeOfArgument(function, i)); edge != users.end())
          edge->second.insert(*chunkNumber(function.getName()));
    steps.graph.chunks = static_cast<int>(chunksOf(module).size());
    for (const auto &[edge, ofEdge] : users)
      for (unsigned user : ofEdge)
        if (unsigned from = maker.lookup(edge); user != from) {
          std::string gradient = edgeGradientName(edge, user);
          bool hasGradient = steps.typeOf.contains(gradient);
          steps.graph.edges.push_back({static_cast<int>(from), static_cast<int>(user), hasGradient});
          steps.edges.push_back({edge.str(), hasGradient ? gradient : ""});
        }
  }

  LogicalResult makeSchedule(DictionaryAttr request) {
    std::string name = request.getAs<StringAttr>("schedule").str();
    int ranks = static_cast<int>(steps.axis.stages);
    auto file = request.getAs<StringAttr>("file");
    if (steps.graph.chunks % ranks != 0)
      return module.emitError("expected as many chunks for each of ")
             << ranks << " stages; got: " << steps.graph.chunks;
    auto made =
        file ? pipeline::parseSchedule(name, file.str(), {ranks, steps.microBatches}, &steps.graph)
             : pipeline::makeSchedule(name, {ranks, steps.microBatches, steps.graph.chunks / ranks, pipeline::Costs()});
    if (!made)
      return module.emitError(made.message());
    steps.schedule = *made;
    if (auto problem = pipeline::checkSchedule(steps.schedule, steps.graph))
      return module.emitError("schedule ") << name << ": " << problem->problem.message;
    return success();
  }

  ModuleOp module;
};

// The list of one stage, with its transfers.
class StageCalls {
public:
  struct Transfer {
    std::string slot;
    bool isSend, isGradient;
    int peer;
  };

  StageCalls(ModuleOp module, const PipelineSteps &steps, unsigned stage)
      : module(module), steps(steps), stage(stage) {}

  LogicalResult build(const std::vector<pipeline::Item> &items) {
    for (const pipeline::Item &item : items)
      if (item.kind != pipeline::ItemKind::Run)
        addTransfer(item);
      else if (failed(addRun(item.task)))
        return failure();
    slots = slotsOf(calls, uses, sent, steps.microBatches);
    return success();
  }

  std::vector<StageCall> calls;
  std::map<std::string, Slot> slots;
  std::map<std::string, SlotUses> uses; // by program
  std::map<std::string, Transfer> transfers;
  std::set<std::string> sent, received; // slots

  // "sent c0:0 to 2".
  static std::string sentEvent(const Transfer &transfer) {
    return "sent " + transfer.slot + " to " + std::to_string(transfer.peer);
  }

private:
  LogicalResult addRun(const pipeline::Task &task) {
    llvm::SmallVector<StringRef> halves;
    std::string chunk = chunkName(static_cast<unsigned>(task.chunk));
    bool isSplit = module.lookupSymbol(chunk + ".bwd_x") != nullptr;
    switch (task.action) {
    case pipeline::Action::Forward:
      halves = {".fwd"};
      break;
    case pipeline::Action::Backward:
      halves = isSplit ? llvm::SmallVector<StringRef>{".bwd_x", ".bwd_w"} : llvm::SmallVector<StringRef>{".bwd"};
      break;
    case pipeline::Action::BackwardInput:
      halves = {".bwd_x"};
      break;
    case pipeline::Action::BackwardWeight:
      halves = {".bwd_w"};
      break;
    case pipeline::Action::Update:
      break;
    }
    for (StringRef half : halves) {
      std::string name = chunk + half.str();
      if (task.microBatch == 0 && module.lookupSymbol(name + ".first"))
        name += ".first";
      auto function = module.lookupSymbol<func::FuncOp>(name);
      if (!function)
        return module.emitError("expected a function @") << name << " to run " << pipeline::toString(task);
      uses.try_emplace(name, usesOf(function));
      calls.push_back({name, task.microBatch});
    }
    return success();
  }

  // A value that several chunks of a stage use goes there once.
  void addTransfer(const pipeline::Item &item) {
    const EdgeNames &edge = steps.edges[item.edge];
    Transfer transfer{item.gradient ? edge.gradient : edge.value, item.kind == pipeline::ItemKind::Send, item.gradient,
                      item.peer};
    std::string name =
        transfer.isSend ? "send." + transfer.slot + ".to." + std::to_string(item.peer) : "recv." + transfer.slot;
    if (!done.insert({name, item.microBatch()}).second)
      return;
    transfers.try_emplace(name, transfer);
    (transfer.isSend ? sent : received).insert(transfer.slot);
    SlotUses &used = uses[name];
    (transfer.isSend ? used.reads : used.writes) = {transfer.slot};
    calls.push_back({name, item.microBatch()});
  }

  ModuleOp module;
  const PipelineSteps &steps;
  unsigned stage;
  std::set<std::pair<std::string, int>> done;
};

// Makes a copy of the module for all stages that of one.
class StageBuilder {
public:
  StageBuilder(ModuleOp module, const PipelineSteps &steps, const StageCalls &list, unsigned stage)
      : module(module), steps(steps), list(list), stage(stage), builder(OpBuilder::atBlockEnd(module.getBody())) {}

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
      finish(begin(name))->setAttr("cleave.calls", callsAttr(calls));
    buildStep(folded, inputs);
    if (auto evaluate = module.lookupSymbol<func::FuncOp>("evaluate")) {
      evaluate->setAttr("cleave.entry", builder.getUnitAttr());
      for (BlockArgument argument : evaluate.getArguments())
        if (argument.use_empty())
          evaluate.setArgAttr(argument.getArgNumber(), kAbsentAttr, builder.getUnitAttr());
    }
    for (auto state : llvm::make_early_inc_range(module.getOps<cleave::StateOp>()))
      if (auto known = states.find(state.getSymName()); known != states.end() && !known->second.test(stage))
        state.erase();
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
      return builder.getDictionaryAttr({builder.getNamedAttr("program", builder.getStringAttr(call.program)),
                                        builder.getNamedAttr("times", builder.getI64IntegerAttr(call.times)),
                                        builder.getNamedAttr("first_frame", builder.getI64IntegerAttr(call.first))});
    }));
  }

  // Names slots and what is waited for; marks what belongs to a backward pass, which gathers are planned by.
  void finishBody(func::FuncOp function) {
    std::string name = function.getName().str();
    for (BlockArgument argument : function.getArguments())
      if (auto input = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "cleave.name"))
        taken.insert(input);
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (std::string slot = slotOfArgument(function, i); !slot.empty()) {
        function.removeArgAttr(i, builder.getStringAttr("cleave.residual"));
        function.removeArgAttr(i, builder.getStringAttr(kEdgeAttr));
        function.setArgAttr(i, kSlotAttr, builder.getStringAttr(slot));
        function.setArgAttr(i, kFramesAttr, framesAttr(slot));
      }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      std::string slot = slotOfResult(function, i);
      function.removeResultAttr(i, builder.getStringAttr(kEdgeAttr));
      function.setResultAttr(i, kSlotAttr, builder.getStringAttr(slot));
      function.setResultAttr(i, kFramesAttr, framesAttr(slot));
    }
    if (isBackward(function))
      for (Operation &op : function.getBody().front().without_terminator())
        if (isa<shard::ShardDialect>(op.getDialect()) || isa<cleave::KernelOp, ComputeOpInterface>(op))
          op.setAttr("cleave.backward", builder.getUnitAttr());
    function->removeAttr(kBackwardOfAttr);
    setEvents(function, list.uses.at(name), name);
  }

  IntegerAttr framesAttr(const std::string &slot) { return builder.getI64IntegerAttr(list.slots.at(slot).frames); }

  // With as many frames as there are micro-batches no frame is used twice in a step.
  bool isReused(const std::string &slot) const { return list.slots.at(slot).frames < steps.microBatches; }

  Attribute eventEntry(const std::string &event, const std::string &slot, int64_t frame) {
    return builder.getDictionaryAttr({builder.getNamedAttr("event", builder.getStringAttr(event)),
                                      builder.getNamedAttr("frames", framesAttr(slot)),
                                      builder.getNamedAttr("frame", builder.getI64IntegerAttr(frame)),
                                      builder.getNamedAttr("slot", builder.getStringAttr(slot))});
  }

  void setEvents(func::FuncOp function, const SlotUses &uses, const std::string &name) {
    llvm::SmallVector<Attribute> waits, records;
    for (const std::string &slot : uses.reads) {
      const Slot &info = list.slots.at(slot);
      if (list.received.count(slot) && info.firstReaders.count(name))
        waits.push_back(eventEntry("arrived " + slot, slot, 0));
      if (list.received.count(slot) && info.lastReaders.count(name) && isReused(slot))
        records.push_back(eventEntry("used " + slot, slot, 0));
    }
    for (const std::string &slot : uses.writes) {
      if (!list.sent.count(slot))
        continue;
      records.push_back(eventEntry("made " + slot, slot, 0));
      for (const auto &[program, transfer] : list.transfers)
        if (transfer.isSend && transfer.slot == slot && isReused(slot))
          waits.push_back(eventEntry(StageCalls::sentEvent(transfer), slot, -list.slots.at(slot).frames));
    }
    function->setAttr(kWaitsAttr, builder.getArrayAttr(waits));
    function->setAttr(kRecordsAttr, builder.getArrayAttr(records));
  }

  void buildTransfer(StringRef name, const StageCalls::Transfer &transfer) {
    Type type = steps.typeOf.lookup(transfer.slot);
    const std::string &slot = transfer.slot;
    DictionaryAttr port = builder.getDictionaryAttr({builder.getNamedAttr(kSlotAttr, builder.getStringAttr(slot)),
                                                     builder.getNamedAttr(kFramesAttr, framesAttr(slot))});
    int64_t channel = transfer.isGradient ? kGradients : kActivations;
    func::FuncOp function = begin(name);
    function->setAttr(kTransferAttr, builder.getStringAttr(transfer.isSend ? "send" : "recv"));
    llvm::SmallVector<Attribute> waits, records;
    if (transfer.isSend) {
      (void)function.insertArgument(0, type, port, module.getLoc());
      createSend(builder, function.getArgument(0), steps.axis, transfer.peer, channel);
      finish(function);
      waits.push_back(eventEntry("made " + slot, slot, 0));
      if (isReused(slot))
        records.push_back(eventEntry(StageCalls::sentEvent(transfer), slot, 0));
    } else {
      Value received = createReceive(builder, module.getLoc(), type, steps.axis, transfer.peer, channel);
      func::ReturnOp::create(builder, module.getLoc(), received);
      function.setFunctionType(builder.getFunctionType({}, type));
      function.setResultAttrs(0, port);
      if (isReused(slot))
        waits.push_back(eventEntry("used " + slot, slot, -list.slots.at(slot).frames));
      records.push_back(eventEntry("arrived " + slot, slot, 0));
    }
    function->setAttr(kWaitsAttr, builder.getArrayAttr(waits));
    function->setAttr(kRecordsAttr, builder.getArrayAttr(records));
  }

  // All calls, then the update.
  void buildStep(const FoldedCalls &folded, ArrayRef<std::pair<DictionaryAttr, Type>> inputs) {
    func::FuncOp step = begin("train_step");
    for (auto [attributes, type] : inputs) {
      NamedAttrList port(attributes);
      if (!taken.contains(attributes.getAs<StringAttr>("cleave.name")))
        port.set(kAbsentAttr, builder.getUnitAttr());
      (void)step.insertArgument(step.getNumArguments(), type, port.getDictionary(builder.getContext()),
                                module.getLoc());
    }
    auto update = module.lookupSymbol<func::FuncOp>("update");
    IRMapping mapping;
    for (Operation &op : update.getBody().front().without_terminator())
      builder.clone(op, mapping);
    update.erase();
    finish(step)->setAttr("cleave.calls", callsAttr(folded.calls));
    step->setAttr("cleave.entry", builder.getUnitAttr());
  }

  ModuleOp module;
  const PipelineSteps &steps;
  const StageCalls &list;
  unsigned stage;
  OpBuilder builder;
  llvm::DenseSet<StringAttr> taken; // inputs that bodies of the stage have
};

struct BuildPrograms : impl::BuildProgramsBase<BuildPrograms> {
  void runOnOperation() override {
    if (getOperation()->hasAttr(kPipelineAttr) && failed(build()))
      signalPassFailure();
  }

  LogicalResult build() {
    ModuleOp module = getOperation();
    PipelineReader reader(module);
    if (failed(reader.read()))
      return failure();
    const PipelineSteps &steps = reader.steps;
    auto update = module.lookupSymbol<func::FuncOp>("update");
    if (!update || module->hasAttr(kKindsAttr))
      return module.emitError("expected chunks and an @update, for ranks of one kind on each stage");
    std::vector<StageCalls> lists;
    std::vector<std::vector<pipeline::Item>> items = pipeline::itemsOf(steps.schedule, steps.graph);
    for (unsigned stage = 0; stage < steps.axis.stages; ++stage)
      if (lists.emplace_back(module, steps, stage); failed(lists.back().build(items[stage])))
        return failure();
    if (failed(checkStates(steps)))
      return failure();
    StateStages states = locateStates(steps);
    llvm::StringMap<std::unique_ptr<StageSplit>> splits;
    for (StringRef name : {"update", "evaluate"})
      if (auto function = module.lookupSymbol<func::FuncOp>(name)) {
        splits[name] = std::make_unique<StageSplit>(function, steps.axis);
        splits[name]->place(states);
      }
    auto inputs = inputsOf(steps);
    module->removeAttr(kPipelineAttr);
    // Of the module for all as it was: the first stage takes it over.
    llvm::SmallVector<ModuleOp> kinds{module};
    for (unsigned stage = 1; stage < steps.axis.stages; ++stage)
      kinds.push_back(module.clone());
    // The last first: what the splits know are the first module's ops.
    for (unsigned stage = steps.axis.stages; stage-- > 0;) {
      std::string name = "stage" + std::to_string(stage);
      kinds[stage]->setAttr(kKindAttr, RankKind::makeEntry(&getContext(), name, {{steps.axisName, stage, stage + 1}}));
      StageBuilder(kinds[stage], steps, lists[stage], stage).build(splits, states, inputs);
    }
    for (unsigned stage = 1; stage < steps.axis.stages; ++stage) {
      kinds[stage].setSymName("stage" + std::to_string(stage));
      module.push_back(kinds[stage]);
    }
    return success();
  }

  // Schedules keep the order of a chunk's forward passes, and that of its backward passes. What one kind of them changes the
  // other must not touch: the order between them is the schedule's.
  LogicalResult checkStates(const PipelineSteps &steps) {
    llvm::StringMap<std::string> changedBy; // a chunk's passes, "c0.bwd"
    auto passOf = [](func::FuncOp function) {
      return function.getName().split('.').first.str() + (isBackward(function) ? ".bwd" : ".fwd");
    };
    for (func::FuncOp function : steps.functions)
      function.walk([&](WriteOp write) { changedBy.try_emplace(write.getState(), passOf(function)); });
    for (func::FuncOp function : steps.functions)
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

  // A chunk's states lie on its stage. What the host alone writes, one number each, is everywhere.
  StateStages locateStates(const PipelineSteps &steps) {
    StateStages states;
    llvm::StringSet<> isWritten;
    getOperation().walk([&](WriteOp write) { isWritten.insert(write.getState()); });
    auto add = [&](StringRef state, func::FuncOp function) {
      states.try_emplace(state, steps.axis.stages).first->second.set(steps.stageOf(function));
    };
    for (func::FuncOp function : steps.functions) {
      function.walk([&](ReadOp read) { add(read.getState(), function); });
      function.walk([&](WriteOp write) { add(write.getState(), function); });
    }
    for (auto state : getOperation().getOps<cleave::StateOp>())
      if (state.getRole() == cleave::Role::Scalar && !isWritten.contains(state.getSymName()))
        states[state.getSymName()] = StageSet(steps.axis.stages, true);
    return states;
  }

  // The model's inputs, each once.
  static llvm::SmallVector<std::pair<DictionaryAttr, Type>> inputsOf(const PipelineSteps &steps) {
    llvm::MapVector<StringAttr, std::pair<DictionaryAttr, Type>> inputs;
    for (func::FuncOp function : steps.functions)
      for (BlockArgument argument : function.getArguments())
        if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "cleave.name"))
          inputs.insert({name, {function.getArgAttrDict(argument.getArgNumber()), argument.getType()}});
    return llvm::map_to_vector(inputs, [](const auto &input) { return input.second; });
  }
};

} // namespace
} // namespace cleave::plan

#include "compiler/Planning/ValueMeaning.h"
#include "compiler/Planning/StagePrograms.h"
#include "compiler/Planning/ValueFacts.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/SavedState.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace cleave::plan {

namespace {

// As PlanMeaning: of many runs of one body, the first two and the last; then the body states what it means by itself.
// Where values cross bodies, all runs.
int64_t maxTimes(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(kWaitsAttr))
      return std::numeric_limits<int64_t>::max();
  return kMaxInterpretedTimes;
}

// The run of one entry function of one kind.
class ValueRun : public MeaningRun {
public:
  ValueRun(ModuleOp module, const ModulePlan &plan, func::FuncOp entry)
      : module(module), plan(plan), entry(entry), mesh(plan.getMesh()), mostTimes(maxTimes(module)) {
    for (StateOp state : module.getOps<StateOp>())
      states[state.getSymName()] = factsOf(state, mesh).content();
    expand(entry, 0);
  }

  KindBox box() const {
    KindBox box;
    for (StringAttr axis : mesh ? mesh.getNames() : ArrayRef<StringAttr>()) {
      auto [begin, end] = plan.getKind().getRange(axis);
      box.ranges.push_back({begin, end});
    }
    return box;
  }

  const Stop *advance() override {
    while (!failure && next < steps.size()) {
      const Step &step = steps[next++];
      if (step.begun)
        begin(step.begun, step.frame);
      else if (run(step.op, step.frame))
        return &stop;
    }
    return nullptr;
  }
  void deliver(const std::optional<Content> &result) override {
    if (!isa<shard::SendOp>(steps[next - 1].op))
      finishCollective(steps[next - 1].op, result);
  }

  // After the run. `outlives` tells of a state that a later program finds it as this one leaves it.
  FailureOr<EntryMeaning> take(llvm::function_ref<bool(StateOp)> outlives);

private:
  struct Step {
    Operation *op;
    func::FuncOp begun; // not null: its body begins
    uint64_t frame;
  };

  void expand(func::FuncOp function, uint64_t frame);
  void begin(func::FuncOp function, uint64_t frame);
  bool run(Operation *op, uint64_t frame); // true: other kinds are needed
  void runViews(Operation *op, ArrayRef<ByteView> views);
  void runKernel(cleave::KernelOp kernel);
  void runLibrary(Operation *op);
  void runReturn(func::ReturnOp op, uint64_t frame);
  void addResults(Operation *op, const KernelFacts &facts, uint64_t number);
  bool startCollective(Operation *op);
  void finishCollective(Operation *op, const std::optional<Content> &result);

  // A collective of any kind, in terms of its axes.
  template <typename Op> bool reduce(Op op, rt::Opcode opcode);
  bool start(Operation *op, rt::Opcode opcode, ArrayRef<int16_t> axes, int64_t count);
  bool transfer(Operation *op, rt::Opcode opcode, ArrayRef<int16_t> axes, std::optional<ArrayRef<int64_t>> peer);
  void setRoot(Operation *op, ArrayRef<int16_t> axes, ArrayRef<int64_t> root);
  AxesFacts axesOf(ArrayRef<int16_t> axes) const;
  Content padded(Value value, uint64_t ranks) const;

  PortFacts portOf(Type type, DictionaryAttr attributes, const std::string &otherwise) const;
  Content of(Value value);
  void set(Value value, Content content) { values[value] = std::move(content); }
  void leave(const Content &content) {
    bool isListed = mostTimes == kMaxInterpretedTimes || steps[next - 1].frame < uint64_t{kListedMicroBatches};
    if (content.bytes() != 0 && isListed)
      expressions.push_back(static_cast<uint32_t>(content.pieces().front().expression));
  }
  void fail(Operation *op, const Twine &why) {
    op->emitOpError("has no meaning: ") << why;
    failure = true;
  }

  ModuleOp module;
  const ModulePlan &plan;
  func::FuncOp entry;
  MeshAttr mesh;
  std::vector<Step> steps;
  size_t next = 0;
  std::string calls;
  llvm::StringMap<Content> states;
  llvm::DenseMap<Value, Content> values; // of the body that runs
  int64_t mostTimes;                     // a call is run
  std::map<std::pair<std::string, uint64_t>, Content> slots; // by micro-batch
  llvm::StringMap<KernelFacts> kernels;  // generated, by label
  Meaning outputs;
  std::vector<uint32_t> expressions;
  Stop stop;
  bool failure = false;
};

void ValueRun::expand(func::FuncOp function, uint64_t frame) {
  if (auto list = function->getAttrOfType<ArrayAttr>("cleave.calls"))
    for (auto call : list.getAsRange<DictionaryAttr>()) {
      auto callee = module.lookupSymbol<func::FuncOp>(call.getAs<StringAttr>("program"));
      int64_t times = call.getAs<IntegerAttr>("times").getInt();
      int64_t first = call.getAs<IntegerAttr>("first_frame").getInt();
      if (!callee)
        return fail(function, "it calls what is not there");
      calls += callee.getSymName().str() + " " + std::to_string(times) + " " + std::to_string(first) + ";";
      for (int64_t n = 0; n < times; ++n)
        if (n + 1 == times || n + 1 < mostTimes)
          expand(callee, frame + first + n);
    }
  steps.push_back({nullptr, function, frame});
  for (Operation &op : function.getBody().front())
    steps.push_back({&op, nullptr, frame});
}

void ValueRun::begin(func::FuncOp function, uint64_t frame) {
  values.clear();
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (auto slot = function.getArgAttrOfType<StringAttr>(index, kSlotAttr)) {
      set(argument, slots[{slot.str(), frame}]);
      continue;
    }
    set(argument,
        portOf(argument.getType(), function.getArgAttrDict(index), "arg" + std::to_string(index)).content(frame));
  }
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

AxesFacts ValueRun::axesOf(ArrayRef<int16_t> axes) const {
  llvm::SmallVector<StringRef> names;
  for (int16_t axis : axes)
    names.push_back(mesh.getNames()[axis].getValue());
  return cleave::plan::axesOf(mesh, ArrayRef<StringRef>(names));
}

PortFacts ValueRun::portOf(Type type, DictionaryAttr attributes, const std::string &otherwise) const {
  auto tensor = cast<RankedTensorType>(type);
  PortFacts facts;
  auto name = attributes ? attributes.getAs<StringAttr>("cleave.name") : StringAttr();
  facts.name = name ? name.str() : otherwise;
  facts.dtype = dtypeNumber(tensor.getElementType());
  facts.bytes = bytesOf(tensor);
  facts.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  auto batchDim = attributes ? attributes.getAs<IntegerAttr>("cleave.batch_dim") : IntegerAttr();
  auto sharding = attributes ? attributes.getAs<ShardingAttr>("cleave.sharding") : ShardingAttr();
  if (batchDim)
    facts.batchDim = batchDim.getInt();
  if (batchDim && sharding)
    facts.split = cleave::plan::axesOf(mesh, ArrayRef<StringRef>(sharding.getDimAxes(batchDim.getInt())));
  return facts;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Content ValueRun::of(Value value) {
  if (auto known = values.find(value); known != values.end())
    return known->second;
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements)
    return {};
  if (elements.isSplat())
    return Content::repeated(splatBits(elements), elementBytes(elements.getElementType()), bytesOf(value.getType()));
  return states.lookup(plan.nameOfConstant(elements));
}

bool ValueRun::run(Operation *op, uint64_t frame) {
  if (isa<ConstantOp>(op))
    return false; // where it is used
  if (auto offload = dyn_cast<OffloadOp>(op)) {
    set(offload.getResult(), of(offload.getOperand()));
    return false;
  }
  if (llvm::SmallVector<ByteView> views = byteViews(op); !views.empty()) {
    runViews(op, views);
    return false;
  }
  if (isa<shard::ShardDialect>(op->getDialect()))
    return startCollective(op);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ReadOp read) { set(read.getResult(), states.lookup(read.getState())); })
      .Case([&](WriteOp write) { states[write.getState()] = of(write.getValue()); })
      .Case([&](cleave::KernelOp kernel) { runKernel(kernel); })
      .Case([&](ub::PoisonOp) {})
      .Case([&](func::ReturnOp ret) { runReturn(ret, frame); })
      .Default([&](Operation *other) { runLibrary(other); });
  return false;
}

void ValueRun::runViews(Operation *op, ArrayRef<ByteView> views) {
  if (views.front().whole.getDefiningOp() != op) {
    for (const ByteView &view : views)
      set(view.part, of(view.whole).slice(view.offset, bytesOf(view.part.getType())));
    return;
  }
  llvm::SmallVector<ByteView> parts(views);
  llvm::stable_sort(parts, [](const ByteView &a, const ByteView &b) { return a.offset < b.offset; });
  Content whole;
  for (const ByteView &view : parts) {
    if (view.offset > whole.bytes())
      whole.append(Content::of(kNoValue, view.offset - whole.bytes()));
    whole.append(of(view.part));
  }
  set(op->getResult(0), std::move(whole));
}

void ValueRun::addResults(Operation *op, const KernelFacts &facts, uint64_t number) {
  std::vector<Content> read;
  for (Value operand : op->getOperands())
    read.push_back(of(operand));
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    Content content = resultOf(number, facts.depends, index, bytesOf(result.getType()), read);
    leave(content);
    set(result, std::move(content));
  }
}

void ValueRun::runKernel(cleave::KernelOp kernel) {
  auto [known, isNew] = kernels.try_emplace(kernel.getLabel().value_or(""));
  KernelFacts &facts = known->second;
  if (isNew) {
    facts.name = kernel.getLabel().value_or("").str();
    for (Type type : kernel.getInputs().getTypes())
      facts.operands.push_back({bytesOf(type), true, false, 0});
    std::optional<ArrayRef<int64_t>> ties = kernel.getTied();
    for (auto [index, type] : llvm::enumerate(kernel.getResultTypes()))
      facts.operands.push_back({bytesOf(type), false, true, ties ? static_cast<uint64_t>((*ties)[index] + 1) : 0});
    for (int64_t mask : dependencesOf(kernel))
      facts.depends.push_back(static_cast<uint64_t>(mask));
  }
  addResults(kernel, facts, facts.number());
}

void ValueRun::runLibrary(Operation *op) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  if (!compute || compute.getComputeKind() != ComputeKind::Kernel)
    return fail(op, "it is neither kernel, view nor collective");
  FailureOr<std::vector<int64_t>> params = encodeParams(op, plan.packedOperandOf(op));
  if (failed(params))
    return (void)(failure = true);
  KernelFacts facts;
  llvm::StringRef name = compute.getKernelSpec().name;
  facts.name = name.str();
  facts.kind = static_cast<uint64_t>(rt::findKernelDef(facts.name)->kind);
  facts.params = std::move(*params);
  addResults(op, facts, facts.number());
}

void ValueRun::runReturn(func::ReturnOp op, uint64_t frame) {
  auto function = cast<func::FuncOp>(op->getParentOp());
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    if (auto slot = function.getResultAttrOfType<StringAttr>(index, kSlotAttr)) {
      slots[{slot.str(), frame}] = of(value);
      continue;
    }
    PortFacts port = portOf(value.getType(), function.getResultAttrDict(index), "result" + std::to_string(index));
    std::string name = "output " + port.name;
    while (outputs.count(name))
      name += "'";
    if (function == entry)
      outputs[name] = port.meaningOf(of(value));
  }
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

// The ring cuts the data into equal parts: planning fills them up with zeros.
Content ValueRun::padded(Value value, uint64_t ranks) const {
  Content content = const_cast<ValueRun *>(this)->of(value);
  auto type = cast<RankedTensorType>(value.getType());
  uint64_t width = elementBytes(type.getElementType());
  uint64_t count = llvm::alignTo(std::max<int64_t>(type.getNumElements(), 1), ranks);
  if (count * width > content.bytes())
    content.append(Content::repeated(0, width, count * width - content.bytes()));
  return content;
}

// Fills in what all collectives have in common; runs it where no other kind is needed.
bool ValueRun::start(Operation *op, rt::Opcode opcode, ArrayRef<int16_t> axes, int64_t count) {
  CollectiveFacts &facts = stop.facts;
  facts.opcode = opcode;
  facts.group = axesOf(axes);
  facts.count = count;
  facts.dtype = static_cast<int64_t>(dtypeNumber(getElementTypeOrSelf(op->getResult(0).getType())));
  KindBox mine = box();
  bool isWithin = true;
  for (size_t axis = 0; axis < mine.ranges.size(); ++axis)
    if (facts.group.axes >> axis & 1)
      isWithin = isWithin && mine.ranges[axis] == std::pair<uint64_t, uint64_t>(0, mesh.getSizes()[axis]);
  if (!isWithin) {
    stop.mine.where = mine.textOn(facts.group.axes);
    return true;
  }
  finishCollective(op, resultOf(facts, {stop.mine}, 0));
  return false;
}

void ValueRun::finishCollective(Operation *op, const std::optional<Content> &result) {
  Value value = op->getResult(0);
  if (result)
    leave(*result);
  set(value, result ? result->slice(0, bytesOf(value.getType())) : Content::of(kNoValue, bytesOf(value.getType())));
}

void ValueRun::setRoot(Operation *op, ArrayRef<int16_t> axes, ArrayRef<int64_t> root) {
  llvm::SmallVector<StringRef> names;
  for (auto [axis, coordinate] : llvm::zip(axes, root)) {
    names.push_back(mesh.getNames()[axis].getValue());
    stop.facts.root = stop.facts.root * mesh.getSizes()[axis] + coordinate;
  }
  stop.mine.isRoot = plan.getKind().isAt(names, root).value_or(true);
}

// What goes along an axis from this kind's one coordinate, or comes to it.
bool ValueRun::transfer(Operation *op, rt::Opcode opcode, ArrayRef<int16_t> axes,
                        std::optional<ArrayRef<int64_t>> peer) {
  auto channel = op->getAttrOfType<IntegerAttr>(kChannelAttr);
  if (axes.size() != 1 || !peer || peer->size() != 1 || !channel) {
    fail(op, "expected one axis, the peer's coordinate on it, and cleave.channel");
    return false;
  }
  stop.facts.opcode = opcode;
  stop.transfer.axis = axesOf(axes);
  int64_t size = mesh.getSizes()[axes.front()], mine = plan.getKind().getRange(mesh.getNames()[axes.front()]).first;
  int64_t offset = opcode == rt::Opcode::Send ? peer->front() - mine : mine - peer->front();
  stop.transfer.offset = (offset + size) % size;
  stop.transfer.channel = channel.getInt();
  if (opcode == rt::Opcode::Send)
    stop.mine.data = of(op->getOperand(0));
  return true;
}

template <typename Op> bool ValueRun::reduce(Op op, rt::Opcode opcode) {
  stop.facts.reduction = op.getReduction() == shard::ReductionKind::Max   ? int64_t(Reduction::Max)
                         : op.getReduction() == shard::ReductionKind::Min ? int64_t(Reduction::Min)
                                                                          : int64_t(Reduction::Sum);
  auto type = cast<RankedTensorType>(op.getInput().getType());
  stop.mine.data = padded(op.getInput(), axesOf(op.getGridAxes()).ranks);
  return start(op, opcode, op.getGridAxes(), stop.mine.data->bytes() / elementBytes(type.getElementType()));
}

bool ValueRun::startCollective(Operation *op) {
  stop = {};
  auto passes = [&](auto collective) { // on one rank it gives the same value again
    if (axesOf(collective.getGridAxes()).ranks != 1)
      return false;
    set(op->getResult(0), of(collective.getInput()));
    return true;
  };
  auto elements = [](Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](shard::AllReduceOp all) { return !passes(all) && reduce(all, rt::Opcode::AllReduce); })
      .Case([&](shard::ReduceScatterOp scatter) {
        return !passes(scatter) && reduce(scatter, rt::Opcode::ReduceScatter);
      })
      .Case([&](shard::AllGatherOp gather) {
        if (passes(gather))
          return false;
        stop.mine.data = of(gather.getInput());
        return start(op, rt::Opcode::AllGather, gather.getGridAxes(), elements(gather.getResult()));
      })
      .Case([&](shard::AllSliceOp slice) {
        AxesFacts group = axesOf(slice.getGridAxes());
        if (!passes(slice))
          set(slice.getResult(),
              of(slice.getInput())
                  .shareOf(group.number(), group.axes, group.ranks, bytesOf(slice.getResult().getType())));
        return false;
      })
      .Case([&](shard::ReduceOp root) {
        if (passes(root))
          return false;
        setRoot(op, root.getGridAxes(), root.getRoot());
        return reduce(root, rt::Opcode::Reduce);
      })
      .Case([&](shard::BroadcastOp root) {
        AxesFacts group = axesOf(root.getGridAxes());
        if (passes(root))
          return false;
        setRoot(op, root.getGridAxes(), root.getRoot());
        Content data = padded(root.getInput(), group.ranks);
        if (stop.mine.isRoot)
          stop.mine.data = data;
        uint64_t count = llvm::alignTo(std::max<int64_t>(elements(root.getResult()), 1), group.ranks);
        return start(op, rt::Opcode::Broadcast, root.getGridAxes(), count);
      })
      .Case([&](shard::SendOp send) {
        return transfer(op, rt::Opcode::Send, send.getGridAxes(), send.getDestination());
      })
      .Case([&](shard::RecvOp receive) {
        return transfer(op, rt::Opcode::Recv, receive.getGridAxes(), receive.getSource());
      })
      .Default([&](Operation *other) {
        fail(other, "no collective that plans know");
        return false;
      });
}

FailureOr<EntryMeaning> ValueRun::take(llvm::function_ref<bool(StateOp)> outlives) {
  if (failure)
    return mlir::failure();
  EntryMeaning result;
  result.meaning = std::move(outputs);
  result.meaning["calls"] = meaningOfCalls(calls);
  for (StateOp state : module.getOps<StateOp>()) {
    uint64_t number = states.lookup(state.getSymName()).number();
    if (number != factsOf(state, mesh).content().number() && outlives(state))
      result.meaning["state " + state.getSymName().str()] = number;
  }
  llvm::sort(expressions);
  expressions.erase(llvm::unique(expressions), expressions.end());
  result.expressions = std::move(expressions);
  return result;
}

} // namespace

// Programs that some call repeats more often than they are run here.
static llvm::StringSet<> repeatedPrograms(ModuleOp module) {
  llvm::StringSet<> repeated;
  int64_t most = maxTimes(module);
  for (auto function : module.getOps<func::FuncOp>())
    if (auto list = function->getAttrOfType<ArrayAttr>("cleave.calls"))
      for (auto call : list.getAsRange<DictionaryAttr>())
        if (call.getAs<IntegerAttr>("times").getInt() > most)
          repeated.insert(call.getAs<StringAttr>("program").getValue());
  return repeated;
}

// Is what a run of the function leaves in the state what its next run finds there and reads?
static bool carries(func::FuncOp function, StringRef state) {
  for (Operation &op : function.getBody().front()) {
    if (auto read = dyn_cast<ReadOp>(op); read && read.getState() == state)
      return true;
    if (auto write = dyn_cast<WriteOp>(op); write && write.getState() == state)
      return false;
  }
  return false;
}

static bool isSavedState(StateOp state) {
  bool isPartial = state.getPartialAxes() && !state.getPartialAxes()->empty();
  return rt::isSaved(static_cast<rt::fb::Role>(state.getRole()), isPartial, !state.getSlot().value_or("").empty());
}

FailureOr<std::vector<std::map<std::string, EntryMeaning>>>
meaningOfValues(ArrayRef<std::pair<ModuleOp, ModulePlan *>> kinds) {
  std::vector<std::map<std::string, EntryMeaning>> result(kinds.size());
  llvm::StringSet<> repeated = repeatedPrograms(kinds.front().first);
  for (auto function : ModuleOp(kinds.front().first).getOps<func::FuncOp>()) {
    bool isRepeated = repeated.contains(function.getSymName());
    if (!function->hasAttr("cleave.entry") && !isRepeated)
      continue;
    std::vector<std::unique_ptr<ValueRun>> runs;
    std::vector<MeaningRun *> all;
    std::vector<KindBox> boxes;
    for (auto [module, plan] : kinds) {
      auto same = ModuleOp(module).lookupSymbol<func::FuncOp>(function.getSymName());
      if (!same)
        return function.emitError("expected every kind of ranks to have this program");
      runs.push_back(std::make_unique<ValueRun>(module, *plan, same));
      all.push_back(runs.back().get());
      boxes.push_back(runs.back()->box());
    }
    bool meet = runTogether(all, boxes);
    for (auto [run, kind, meanings] : llvm::zip_equal(runs, kinds, result)) {
      ModulePlan &plan = *kind.second;
      FailureOr<EntryMeaning> meaning = run->take([&](StateOp state) {
        return isSavedState(state) || plan.survives(state.getSymName()) ||
               (isRepeated && carries(function, state.getSymName()));
      });
      if (failed(meaning))
        return failure();
      meanings[function.getSymName().str()] = std::move(*meaning);
    }
    if (!meet)
      return function.emitError("expected the kinds of ranks to run the same collectives in the same order");
  }
  return result;
}

EntryMeaning meaningOfInit(ModuleOp module, const ModulePlan &plan) {
  EntryMeaning result;
  result.meaning = meaningOfNothing();
  for (StateOp state : module.getOps<StateOp>()) {
    auto packed = plan.getPackedStates().find(state.getSymName());
    if (packed == plan.getPackedStates().end())
      continue;
    KernelFacts facts;
    facts.name = packed->second.packer;
    facts.kind = static_cast<uint64_t>(rt::findKernelDef(facts.name)->kind);
    facts.params = packed->second.params;
    StateFacts of = factsOf(state, plan.getMesh());
    Content content = resultOf(facts.number(), {}, 0, of.bytes, {of.content()});
    result.meaning["state " + of.name] = content.number();
    result.expressions.push_back(static_cast<uint32_t>(content.pieces().front().expression));
  }
  llvm::sort(result.expressions);
  return result;
}

} // namespace cleave::plan

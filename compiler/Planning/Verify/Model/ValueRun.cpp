#include "compiler/Planning/Verify/Model/ValueRun.h"
#include "compiler/Planning/Build/StagePrograms.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "runtime/plan/KernelDefs.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace cleave::plan {

bool hasBodies(ModuleOp module) {
  return llvm::any_of(module.getOps<func::FuncOp>(),
                      [](func::FuncOp function) { return function->hasAttr(kWaitsAttr); });
}

ValueRun::ValueRun(ModuleOp module, const ModulePlan &plan, func::FuncOp entry, const BodyMeanings *bodies,
                   const KindBox &firstAlike)
    : module(module), plan(plan), entry(entry), mesh(plan.getMesh()), bodies(bodies), firstAlike(firstAlike) {
  for (StateOp state : module.getOps<StateOp>())
    states[state.getSymName()] = factsOf(state, mesh).content();
  starts = states;
  expand(entry, 0);
}

KindBox boxOf(const ModulePlan &plan) {
  KindBox box;
  MeshAttr mesh = plan.getMesh();
  for (StringAttr axis : mesh ? mesh.getNames() : ArrayRef<StringAttr>()) {
    auto [begin, end] = plan.getKind().getRange(axis);
    box.ranges.push_back({begin, end});
  }
  return box;
}

// Runs the ops of one body after the other. Before each op, `values` has the contents of all values of the body that
// the op can use, and `states` has those of the states. There is no memory, so no order of bytes can be wrong here:
//
//   %w = read @w               %w: the state w, as the entry finds it
//   %y = kernel k(%x, %w)      %y: k(x, w)
//   %p = slice %y              %p: a range of the bytes of k(x, w), with no expression of its own
//   write %y, @w               state w: k(x, w)
//
// A body's values end with it (begin()). Only states and stage buffers stay for the next body.
const MeaningRun::Stop *ValueRun::advance() {
  while (!failure && (following || next < runs.size())) {
    if (!following) {
      frame = runs[next].frame;
      begin(runs[next].function, frame);
      following = &runs[next++].function.getBody().front().front();
    }
    current = following;
    following = current->getNextNode();
    if (!run(current, frame))
      continue;
    if (!isBody())
      return &stop;
    transferAlone();
  }
  return nullptr;
}

void ValueRun::deliver(const std::optional<Content> &result) {
  if (!isa<shard::SendOp>(current))
    finishCollective(current, result);
}

void ValueRun::expand(func::FuncOp function, uint64_t frame) {
  if (auto list = function->getAttrOfType<ArrayAttr>(kCallsAttr))
    for (auto call : list.getAsRange<DictionaryAttr>()) {
      auto callee = module.lookupSymbol<func::FuncOp>(call.getAs<StringAttr>("program"));
      int64_t times = call.getAs<IntegerAttr>("times").getInt();
      int64_t first = call.getAs<IntegerAttr>("first_frame").getInt();
      auto skip = call.getAs<IntegerAttr>("skip");
      int64_t skipped = skip ? skip.getInt() : 0;
      calls += textOfCall(callee.getSymName().str(), times, first, skipped);
      if (bodies) {
        if (!isBody() && times > 0)
          leaveAfterCalls(callee);
        continue;
      }
      for (int64_t n = 0; n < times; ++n)
        if (n + 1 == times || n + 1 < kMaxInterpretedTimes)
          expand(callee, frame + first + n * (skipped + 1));
    }
  runs.push_back({function, frame});
}

// Adds the function and all functions that it calls, directly or through others.
static void addCallees(ModuleOp module, func::FuncOp function, llvm::SetVector<StringRef> &names) {
  if (auto list = function->getAttrOfType<ArrayAttr>(kCallsAttr))
    for (auto call : list.getAsRange<DictionaryAttr>())
      addCallees(module, module.lookupSymbol<func::FuncOp>(call.getAs<StringAttr>("program")), names);
  names.insert(function.getSymName());
}

// After a call, states hold what the bodies state, whatever that is. Nothing is known of states that bodies change
// without stating it.
void ValueRun::leaveAfterCalls(func::FuncOp callee) {
  llvm::SetVector<StringRef> names;
  addCallees(module, callee, names);
  llvm::StringMap<bool> changed; // whether its number is stated
  for (StringRef name : names) {
    auto body = bodies->find(name.str());
    if (body == bodies->end())
      continue;
    for (const std::string &state : body->second.lost)
      changed.try_emplace(state, false);
    for (const auto &[key, of] : body->second.meaning)
      if (StringRef state = key; state.consume_front("state "))
        changed[state] = true;
  }
  history = historyAfter(history, {}); // an entry's calls come before its own ops
  for (StateOp state : module.getOps<StateOp>())
    if (auto found = changed.find(state.getSymName()); found != changed.end()) {
      const Content &start = starts[state.getSymName()];
      ValueNumber symbol = found->second ? afterCalls(start.number(), firstAlike, history) : lostSymbol(start.number());
      states[state.getSymName()] = Content::of(symbol, start.bytes(), start.varies());
    }
}

// Stage buffers with the same number of frames are in one region, as planning has decided.
MemoryContents &ValueRun::crossBody(int64_t frames, bool isHost) {
  auto [known, isNew] = crossBodyMemories.try_emplace({frames, isHost});
  if (isNew)
    known->second.write(0, Content::of(crossBodySymbol(stageBufferRegionName(frames, isHost), 0),
                                       plan.stageBufferRegionBytes(frames, isHost)));
  return known->second;
}

// Continues a body at a stop. A receive gets a symbol for whatever is sent.
void ValueRun::transferAlone() {
  if (stop.facts.opcode == rt::Opcode::Send)
    return messages.send(stop.transfer, *stop.mine.data);
  if (stop.facts.opcode != rt::Opcode::Recv)
    return meetAlone();
  finishCollective(current, messages.take(stop.transfer, bytesOf(current->getResult(0).getType()), 0));
}

// Runs a body's collective with other kinds, which make the same contribution (AlikeKinds.h). A broadcast is an error.
void ValueRun::meetAlone() {
  if (stop.facts.opcode == rt::Opcode::Broadcast)
    return fail(current, "a body of a pipeline has no broadcast between ranks of several kinds");
  messages.meet(stop.facts, *stop.mine.data);
  finishCollective(current, resultOf(stop.facts, {{"", stop.mine.data, stop.mine.isRoot}}, 0));
}

void ValueRun::begin(func::FuncOp function, uint64_t frame) {
  values.clear();
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (auto stageBuffer = function.getArgAttrOfType<StringAttr>(index, kStageBufferAttr)) {
      int64_t frames = function.getArgAttrOfType<IntegerAttr>(index, kFramesAttr).getInt();
      bool isPart = false, isHost = function.getArgAttr(index, kStageBufferHostAttr) != nullptr;
      uint64_t bytes = bytesOf(argument.getType()), offset = plan.knownStageBufferOffset(stageBuffer, bytes, isHost);
      set(argument, crossBody(frames, isHost).read(offset, offset + bytes, &isPart));
      continue;
    }
    set(argument,
        portOf(argument.getType(), function.getArgAttrDict(index), "arg" + std::to_string(index)).content(frame));
  }
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

const AxesFacts &ValueRun::axesOf(ArrayRef<int16_t> numbers) const {
  auto [known, isNew] = axes.try_emplace(numbers.vec());
  if (isNew) {
    llvm::SmallVector<StringRef> names;
    for (int16_t axis : numbers)
      names.push_back(mesh.getNames()[axis].getValue());
    known->second = cleave::plan::axesOf(mesh, ArrayRef<StringRef>(names));
  }
  return known->second;
}

PortFacts ValueRun::portOf(Type type, DictionaryAttr attributes, const std::string &otherwise) const {
  auto tensor = cast<RankedTensorType>(type);
  PortFacts facts;
  auto name = attributes ? attributes.getAs<StringAttr>(kNameAttr) : StringAttr();
  facts.name = name ? name.str() : otherwise;
  facts.dtype = dtypeNumber(tensor.getElementType());
  facts.bytes = bytesOf(tensor);
  facts.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  auto batchDim = attributes ? attributes.getAs<IntegerAttr>(kBatchDimAttr) : IntegerAttr();
  auto sharding = attributes ? attributes.getAs<ShardingAttr>(kShardingAttr) : ShardingAttr();
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
    return false; // of() handles it at its uses
  if (auto offload = dyn_cast<OffloadOp>(op)) {
    set(offload.getResult(), of(offload.getOperand()));
    return false;
  }
  if (const llvm::SmallVector<ByteView> &ofOp = viewsOf(op); !ofOp.empty()) {
    runViews(op, ofOp);
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

const llvm::SmallVector<ByteView> &ValueRun::viewsOf(Operation *op) {
  auto [known, isNew] = views.try_emplace(op);
  if (isNew)
    known->second = byteViews(op);
  return known->second;
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

void ValueRun::addResults(Operation *op, const Known &known) {
  std::vector<Content> read;
  read.reserve(op->getNumOperands());
  for (Value operand : op->getOperands())
    read.push_back(of(operand));
  if (known.checked)
    checks.insert(checkOf(known.number, read[*known.checked]));
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    Content content = resultOf(known.number, known.depends, index, bytesOf(result.getType()), read);
    leave(content);
    set(result, std::move(content));
  }
}

KernelComputation ValueRun::computationOf(cleave::KernelOp kernel) const {
  KernelComputation computation;
  computation.name = kernel.getLabel().value_or("").str();
  computation.code = plan.codeOf(kernel);
  for (Type type : kernel.getInputs().getTypes())
    computation.operands.push_back({bytesOf(type), true, false, 0});
  std::optional<ArrayRef<int64_t>> ties = kernel.getTied();
  for (auto [index, type] : llvm::enumerate(kernel.getResultTypes()))
    computation.operands.push_back({bytesOf(type), false, true, ties ? static_cast<uint64_t>((*ties)[index] + 1) : 0});
  for (int64_t mask : dependencesOf(kernel))
    computation.depends.push_back(static_cast<uint64_t>(mask));
  return computation;
}

void ValueRun::runKernel(cleave::KernelOp kernel) {
  auto [known, isNew] = kernels.try_emplace(kernel.getLabel().value_or(""));
  if (isNew) {
    KernelComputation computation = computationOf(kernel);
    known->second = {computation.depends, computation.number(), std::nullopt};
  }
  addResults(kernel, known->second);
}

void ValueRun::runLibrary(Operation *op) {
  if (auto known = libraries.find(op); known != libraries.end())
    return addResults(op, known->second);
  auto compute = dyn_cast<ComputeOpInterface>(op);
  if (!compute || compute.getComputeKind() != ComputeKind::Kernel)
    return fail(op, "it is neither kernel, view nor collective");
  FailureOr<std::vector<int64_t>> params = encodeParams(op, plan.packedOperandOf(op));
  if (failed(params))
    return (void)(failure = true);
  KernelComputation computation;
  llvm::StringRef name = compute.getKernelSpec().name;
  computation.name = name.str();
  const rt::KernelDef &def = *rt::findKernelDef(computation.name);
  computation.kind = static_cast<uint64_t>(def.kind);
  computation.params = std::move(*params);
  addResults(op, libraries[op] = {computation.depends, computation.number(), def.checkedBuffer()});
}

void ValueRun::runReturn(func::ReturnOp op, uint64_t frame) {
  auto function = cast<func::FuncOp>(op->getParentOp());
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    if (auto stageBuffer = function.getResultAttrOfType<StringAttr>(index, kStageBufferAttr)) {
      int64_t frames = function.getResultAttrOfType<IntegerAttr>(index, kFramesAttr).getInt();
      bool isHost = function.getResultAttr(index, kStageBufferHostAttr) != nullptr;
      crossBody(frames, isHost)
          .write(plan.knownStageBufferOffset(stageBuffer, bytesOf(value.getType()), isHost), of(value));
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

FailureOr<EntryMeaning> ValueRun::take(llvm::function_ref<bool(StateOp)> outlives) {
  if (failure)
    return mlir::failure();
  EntryMeaning result;
  result.meaning = std::move(outputs);
  result.meaning["calls"] = meaningOfCalls(callsWith(calls, history));
  addChecks(checks, result.meaning);
  for (StateOp state : module.getOps<StateOp>()) {
    ValueNumber number = states.lookup(state.getSymName()).number();
    if (number == starts[state.getSymName()].number())
      continue;
    if (outlives(state))
      result.meaning["state " + state.getSymName().str()] = number;
    else
      result.lost.push_back(state.getSymName().str());
  }
  for (auto &[key, contents] : crossBodyMemories) {
    auto [frames, isHost] = key;
    uint64_t bytes = plan.stageBufferRegionBytes(frames, isHost);
    std::string name = stageBufferRegionName(frames, isHost);
    bool isPart = false;
    ValueNumber number = contents.read(0, bytes, &isPart).number();
    if (number != Content::of(crossBodySymbol(name, 0), bytes).number())
      result.meaning["region " + name] = number;
  }
  if (!messages.empty())
    result.meaning["messages"] = messages.number();
  result.messages = std::move(messages);
  llvm::sort(expressions);
  expressions.erase(llvm::unique(expressions), expressions.end());
  result.expressions = std::move(expressions);
  return result;
}

} // namespace cleave::plan

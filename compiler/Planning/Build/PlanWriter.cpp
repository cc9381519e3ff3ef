#include "compiler/Planning/Build/PlanWriter.h"

#include "compiler/Planning/Build/StateHash.h"
#include "compiler/Planning/Verify/Facts/Declarations.h"
#include "compiler/Planning/Verify/Model/ValueMeaning.h"
#include "compiler/Support/WireType.h"
#include "dialects/Cleave/IR/Messages.h"
#include "dialects/Plan/IR/Plan.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/KernelFacts.h"
#include "runtime/plan/Opcode.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace cleave::plan {

namespace fb = rt::fb;

namespace {

// Writes the plan of one kind. Ops refer to other ops by symbol; the file refers to them by position in a table. So
// every table is numbered before anything that refers to its entries is written:
//
//   1. header       axes and streams, to which all else refers
//   2. tables       regions, events, groups, kernels; programs get a number and no content yet
//   3. states       refer to regions and axes
//   4. programs     refer to all of these, and to each other: a call may be of a later program
//
//   plan.region @transient ...          regions["transient"] = 0
//   plan.program @c0.fwd ...            indices["c0.fwd"] = 0         (step 2)
//   plan.call @c0.fwd ...               field `program` = 0           (step 4)
class PlanWriter {
public:
  explicit PlanWriter(ModuleOp module) : module(module) {}
  FailureOr<std::unique_ptr<fb::PlanT>> write();

private:
  LogicalResult writeHeader(HeaderOp header);
  void writeOptions(HeaderOp header);
  LogicalResult writeTable(Operation *op);
  LogicalResult writeEntry(RegionOp region);
  LogicalResult writeEntry(EventOp event);
  LogicalResult writeEntry(GroupOp group);
  LogicalResult writeEntry(KernelOp kernel);
  LogicalResult writeEntry(ProgramOp program);
  LogicalResult checkTableSizes();
  LogicalResult writeState(StateOp state);
  LogicalResult writeProgram(ProgramOp program, fb::ProgramT &result);
  LogicalResult writeInstruction(InstructionOpInterface op, fb::InstructionT &result);
  FailureOr<int64_t> encodeField(Operation *op, Attribute field);
  template <typename Port> LogicalResult writePort(Port port, std::vector<std::unique_ptr<fb::PortT>> &ports);
  LogicalResult encodeType(Operation *op, Type type, fb::DType &dtype);
  std::vector<uint32_t> axes(ArrayAttr names) const;

  ModuleOp module;
  std::unique_ptr<fb::PlanT> result = std::make_unique<fb::PlanT>();
  fb::PlanT &plan = *result;
  llvm::StringMap<int64_t> indices; // symbol -> position in the table of its kind
  llvm::StringMap<int64_t> groups;  // the same, only of groups
  llvm::StringMap<int64_t> events;  // the same, only of the plan's events
  llvm::StringMap<uint16_t> regions;
  llvm::StringMap<uint8_t> streams;
  llvm::StringMap<uint32_t> axisIndices;
};

std::vector<uint32_t> PlanWriter::axes(ArrayAttr names) const {
  std::vector<uint32_t> result;
  if (names)
    for (auto name : names.getAsRange<StringAttr>())
      result.push_back(axisIndices.lookup(name));
  return result;
}

LogicalResult PlanWriter::encodeType(Operation *op, Type type, fb::DType &dtype) {
  std::optional<fb::DType> known = wireType(type);
  if (!known)
    return op->emitOpError("expected an element type that plans know; got: ") << type;
  dtype = *known;
  return success();
}

// The hashes of both instruction sets say what the numbers in the file mean. A build with other hashes refuses the
// file.
LogicalResult PlanWriter::writeHeader(HeaderOp header) {
  plan.format = rt::kPlanFormat;
  plan.instruction_set = rt::instructionSetHash();
  plan.kernel_set = rt::kernelSetHash();
  plan.target = header.getTarget().str();
  plan.threads = header.getThreads();
  for (auto [name, size] : llvm::zip(header.getAxes().getAsRange<StringAttr>(), header.getSizes())) {
    axisIndices[name] = plan.axes.size();
    plan.axes.push_back(std::make_unique<fb::AxisT>());
    plan.axes.back()->name = name.str();
    plan.axes.back()->size = size;
  }
  for (auto stream : header.getStreams().getAsRange<StringAttr>()) {
    streams[stream] = plan.streams.size();
    plan.streams.push_back(stream.str());
  }
  plan.micro_batches = header.getMicroBatches();
  plan.batch = header.getBatch();
  plan.data_axes = axes(header.getDataAxesAttr());
  plan.kind = header.getKind().value_or("").str();
  for (NamedAttribute range : header.getWhereAttr() ? header.getWhereAttr().getValue() : ArrayRef<NamedAttribute>()) {
    auto bounds = cast<DenseI64ArrayAttr>(range.getValue());
    plan.where.push_back(std::make_unique<fb::AxisRangeT>());
    plan.where.back()->axis = axisIndices.lookup(range.getName());
    plan.where.back()->begin = bounds[0];
    plan.where.back()->end = bounds[1];
  }
  writeOptions(header);
  return success();
}

// Properties are texts that the runtime looks up by name (runtime/plan/Properties.def). Attributes that are no text are
// for the compiler alone.
void PlanWriter::writeOptions(HeaderOp header) {
  if (DictionaryAttr options = header.getOptionsAttr())
    for (NamedAttribute option : options)
      if (auto text = dyn_cast<StringAttr>(option.getValue())) {
        plan.properties.push_back(std::make_unique<fb::PropertyT>());
        plan.properties.back()->key = option.getName().str();
        plan.properties.back()->value = text.str();
      }
  ArrayAttr groups = header.getParamGroupsAttr();
  for (auto group :
       groups ? llvm::to_vector(groups.getAsRange<DictionaryAttr>()) : llvm::SmallVector<DictionaryAttr>()) {
    auto number = [&](StringRef key, double otherwise) {
      auto value = group.getAs<FloatAttr>(key);
      return value ? value.getValueAsDouble() : otherwise;
    };
    auto name = group.getAs<StringAttr>("name");
    plan.param_groups.push_back(std::make_unique<fb::ParamGroupT>());
    plan.param_groups.back()->name = name ? name.str() : "group" + std::to_string(plan.param_groups.size() - 1);
    plan.param_groups.back()->lr_scale = number("lr_scale", 1);
    plan.param_groups.back()->weight_decay = number("weight_decay", 0);
  }
}

// Segments keep the names and shapes of the logical tensors, by which checkpoints and weights find them, whatever the
// layout.
LogicalResult PlanWriter::writeState(StateOp state) {
  auto type = cast<RankedTensorType>(state.getType());
  auto result = std::make_unique<fb::StateT>();
  result->name = state.getSymName().str();
  result->role = static_cast<fb::Role>(state.getRole());
  result->slot = state.getSlot().value_or("").str();
  result->elements = type.getNumElements();
  result->split_axes = axes(state.getSplitAxesAttr());
  result->partial_axes = axes(state.getPartialAxesAttr());
  result->region = regions.lookup(state.getRegion());
  result->offset = state.getOffset();
  for (auto segment : state.getSegments().getAsRange<SegmentAttr>()) {
    auto entry = std::make_unique<fb::SegmentT>();
    entry->name = segment.getName().str();
    entry->shape.assign(segment.getType().getShape().begin(), segment.getType().getShape().end());
    entry->offset = segment.getOffset();
    entry->group = segment.getGroup();
    entry->init = static_cast<fb::InitKind>(segment.getInit());
    entry->value = segment.getValue() ? segment.getValue().getValueAsDouble() : 0;
    entry->source = segment.getSource() ? segment.getSource().str() : "";
    entry->axis = segment.getAxis() ? axisIndices.lookup(segment.getAxis()) : 0;
    if (segment.getAliases())
      for (auto alias : segment.getAliases().getAsRange<StringAttr>())
        entry->aliases.push_back(alias.str());
    result->segments.push_back(std::move(entry));
  }
  LogicalResult status = encodeType(state, type.getElementType(), result->dtype);
  plan.states.push_back(std::move(result));
  return status;
}

// Gives a table's entry its number, and writes it if it refers to nothing but axes. Kernels share `indices` with groups
// and programs, because a field of an instruction has one type of symbol. Groups and events also have maps of their
// own, for buffers and for records.
LogicalResult PlanWriter::writeTable(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<RegionOp, EventOp, GroupOp, KernelOp, ProgramOp>([&](auto entry) { return writeEntry(entry); })
      .Case([&](HeaderOp) { return success(); })
      .Case([&](StateOp) { return success(); })  // needs the regions
      .Case([&](ModuleOp) { return success(); }) // a further kind
      .Default([](Operation *other) -> LogicalResult {
        return other->emitOpError("cannot be written; expected a module in plan form (run build-plan first)");
      });
}

LogicalResult PlanWriter::writeEntry(RegionOp region) {
  regions[region.getSymName()] = plan.regions.size();
  fb::RegionT &entry = *plan.regions.emplace_back(std::make_unique<fb::RegionT>());
  entry.name = region.getSymName().str();
  entry.kind = static_cast<fb::RegionKind>(region.getKind());
  entry.bytes = region.getBytes();
  entry.frames = region.getFrames();
  entry.counter = static_cast<fb::Counter>(region.getCounter());
  entry.space = region.getHost() ? fb::Space::host : fb::Space::device;
  return success();
}

LogicalResult PlanWriter::writeEntry(EventOp event) {
  events[event.getSymName()] = plan.events.size();
  plan.events.emplace_back(event.getFrames(), static_cast<fb::Counter>(event.getCounter()));
  return success();
}

LogicalResult PlanWriter::writeEntry(GroupOp group) {
  groups[group.getSymName()] = indices[group.getSymName()] = plan.groups.size();
  fb::GroupT &entry = *plan.groups.emplace_back(std::make_unique<fb::GroupT>());
  entry.axes = axes(group.getAxes());
  for (NamedAttribute only : group.getOnlyAttr() ? group.getOnlyAttr().getValue() : ArrayRef<NamedAttribute>()) {
    fb::AxisPlacesT &places = *entry.only.emplace_back(std::make_unique<fb::AxisPlacesT>());
    places.axis = axisIndices.lookup(only.getName());
    ArrayRef<int64_t> coordinates = cast<DenseI64ArrayAttr>(only.getValue());
    places.coordinates.assign(coordinates.begin(), coordinates.end());
  }
  return success();
}

LogicalResult PlanWriter::writeEntry(KernelOp kernel) {
  indices[kernel.getSymName()] = plan.kernels.size();
  fb::KernelT &entry = *plan.kernels.emplace_back(std::make_unique<fb::KernelT>());
  entry.kind = static_cast<fb::KernelKind>(kernel.getKind());
  entry.name = kernel.getName().str();
  entry.params.assign(kernel.getParams().begin(), kernel.getParams().end());
  entry.code = static_cast<uint64_t>(kernel.getCode());
  entry.extent = kernel.getExtent();
  entry.flops = kernel.getFlops();
  entry.bytes = kernel.getBytes();
  if (std::optional<ArrayRef<int64_t>> depends = kernel.getDepends())
    entry.depends.assign(depends->begin(), depends->end());
  entry.scratch = kernel.getScratch();
  for (OperandAttr operand : kernel.getOperandList()) {
    fb::DType dtype = fb::DType::f32;
    if (failed(encodeType(kernel, operand.getElement(), dtype)))
      return failure();
    // 0: over no other operand
    entry.operands.emplace_back(operand.getBytes(), operand.getOver() + 1, static_cast<fb::Access>(operand.getAccess()),
                                dtype);
  }
  // Binds the facts on which the proof rests to the code: the artefact has the same hash next to the code
  // (KernelFacts.h).
  if (entry.kind == fb::KernelKind::generated)
    entry.facts = rt::KernelFacts::of(entry).hash();
  return success();
}

// The entry gets a number but no content yet, because programs refer to each other.
LogicalResult PlanWriter::writeEntry(ProgramOp program) {
  indices[program.getSymName()] = plan.programs.size();
  plan.programs.push_back(std::make_unique<fb::ProgramT>());
  return success();
}

// A port without a region belongs to another kind of ranks. It is still declared, because all kinds have the same
// ports.
template <typename Port>
LogicalResult PlanWriter::writePort(Port port, std::vector<std::unique_ptr<fb::PortT>> &ports) {
  auto type = cast<RankedTensorType>(port.getType());
  ports.push_back(std::make_unique<fb::PortT>());
  fb::PortT &entry = *ports.back();
  entry.name = port.getName().str();
  entry.shape.assign(type.getShape().begin(), type.getShape().end());
  entry.absent = !port.getRegion();
  entry.region = entry.absent ? 0 : regions.lookup(*port.getRegion());
  entry.offset = port.getOffset();
  entry.batch_dim = port.getBatchDim();
  entry.split_axes = axes(port.getSplitAxesAttr());
  return encodeType(port, type.getElementType(), entry.dtype);
}

// Buffers refer to regions and groups by 16 bits (0 is no group). Instructions refer to streams by 8 bits.
LogicalResult PlanWriter::checkTableSizes() {
  auto check = [&](size_t size, size_t most, const char *what) -> LogicalResult {
    if (size <= most)
      return success();
    return module.emitError("expected at most ") << most << " " << what << "; got: " << size;
  };
  return success(succeeded(check(plan.regions.size(), std::numeric_limits<uint16_t>::max() + 1, "regions")) &&
                 succeeded(check(plan.groups.size(), std::numeric_limits<uint16_t>::max(), "groups")) &&
                 succeeded(check(plan.streams.size(), std::numeric_limits<uint8_t>::max() + 1, "streams")));
}

// Writes ports and instructions in the order of the body. The file has no nesting: instructions contain the events and
// frames.
LogicalResult PlanWriter::writeProgram(ProgramOp program, fb::ProgramT &result) {
  result.name = program.getSymName().str();
  result.entry = program.getEntry();
  result.events = program.getEvents();
  if (DictionaryAttr peaks = program.getPeaksAttr())
    for (NamedAttribute peak : peaks)
      if (auto bytes = dyn_cast<IntegerAttr>(peak.getValue())) {
        result.peaks.push_back(std::make_unique<fb::PeakT>());
        result.peaks.back()->kind = peak.getName().str();
        result.peaks.back()->bytes = bytes.getInt();
      }
  if (DictionaryAttr meaning = program.getMeaningAttr())
    for (NamedAttribute entry : meaning)
      if (auto number = dyn_cast<IntegerAttr>(entry.getValue())) {
        result.meaning.push_back(std::make_unique<fb::MeaningT>());
        result.meaning.back()->name = entry.getName().str();
        ValueNumber bits = numberOf(number);
        result.meaning.back()->number = bits.low;
        result.meaning.back()->high = bits.high;
      }
  if (std::optional<ArrayRef<int32_t>> expressions = program.getExpressions())
    result.expressions.assign(expressions->begin(), expressions->end());
  for (Operation &op : program.getBody().front()) {
    LogicalResult status = success();
    if (auto input = dyn_cast<InputOp>(op)) {
      status = writePort(input, result.inputs);
    } else if (auto output = dyn_cast<OutputOp>(op)) {
      status = writePort(output, result.outputs);
    } else {
      result.instructions.push_back(std::make_unique<fb::InstructionT>());
      status = writeInstruction(cast<InstructionOpInterface>(op), *result.instructions.back());
    }
    if (failed(status))
      return failure();
  }
  return success();
}

// Encodes a field as a number. Its attribute determines how, so that no instruction has code here.
//
//   count 2048 -> 2048     reduction sum -> 0     axis "dp" -> 0     dtype f32 -> its DType     @c0.fwd -> its position
//
// Events have one numbering: the program's events first (plain numbers), then the plan's, which have symbols.
FailureOr<int64_t> PlanWriter::encodeField(Operation *op, Attribute field) {
  if (auto number = dyn_cast_or_null<IntegerAttr>(field))
    return number.getInt();
  if (auto reduction = dyn_cast_or_null<ReductionAttr>(field))
    return static_cast<int64_t>(reduction.getValue());
  if (auto algorithm = dyn_cast_or_null<AlgorithmAttr>(field))
    return static_cast<int64_t>(algorithm.getValue());
  if (auto counter = dyn_cast_or_null<CounterAttr>(field))
    return static_cast<int64_t>(counter.getValue());
  if (auto axis = dyn_cast_or_null<StringAttr>(field))
    if (auto found = axisIndices.find(axis.getValue()); found != axisIndices.end())
      return found->second;
  if (auto type = dyn_cast_or_null<TypeAttr>(field))
    if (std::optional<fb::DType> dtype = wireType(type.getValue()))
      return static_cast<int64_t>(*dtype);
  if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(field)) {
    if (isa<RecordOp, WaitOp>(op)) // the plan's events come after the program's own
      if (auto event = events.find(symbol.getValue()); event != events.end())
        return event->second + op->getParentOfType<ProgramOp>().getEvents();
    if (auto found = indices.find(symbol.getValue()); found != indices.end())
      return found->second;
  }
  return op->emitOpError("has a field that cannot be written; got: ") << field;
}

// Buffers and fields come in the order of the definition, so a number's position gives its meaning. Group 0 of a buffer
// is no group: the same bytes on all ranks.
LogicalResult PlanWriter::writeInstruction(InstructionOpInterface op, fb::InstructionT &result) {
  const InstructionDef *def = op.getDefinition();
  if (!def)
    return op->emitOpError("is not an instruction of runtime/plan/Instructions.def");
  result.op = def->opcode;
  result.stream = streams.lookup(op.getStreamName());
  result.note = op.getNoteText().str();
  if (auto reason = op->getAttrOfType<DictionaryAttr>("reason")) {
    auto text = [&](StringRef key) { return reason.getAs<StringAttr>(key).str(); };
    result.reason = std::make_unique<fb::ReasonT>();
    result.reason->tensor = text("tensor");
    result.reason->made = text("made");
    result.reason->used = text("used");
  }
  for (BufferAttr buffer : op.getInstructionBuffers()) {
    auto region = regions.find(buffer.getRegion());
    if (region == regions.end())
      return op->emitOpError("expected a region; got: ") << buffer.getRegion();
    uint16_t shareOf = 0;
    if (FlatSymbolRefAttr group = buffer.getGroup()) {
      auto found = groups.find(group.getValue());
      if (found == groups.end())
        return op->emitOpError("expected a group; got: ") << group;
      shareOf = found->second + 1;
    }
    result.buffers.emplace_back(buffer.getOffset(), buffer.getBytes(), region->second,
                                static_cast<fb::Access>(buffer.getAccess()), shareOf, buffer.getFrame(),
                                buffer.getStride());
  }
  for (Attribute field : op.getInstructionFields()) {
    FailureOr<int64_t> value = encodeField(op, field);
    if (failed(value))
      return failure();
    result.fields.push_back(*value);
  }
  return success();
}

// The steps are in the order of the class comment. Further kinds of ranks are modules in this one, and become plans in
// the first kind's plan.
FailureOr<std::unique_ptr<fb::PlanT>> PlanWriter::write() {
  auto headers = module.getOps<HeaderOp>();
  if (!llvm::hasSingleElement(headers))
    return module.emitError("expected a module in plan form, with one plan.header");
  if (failed(writeHeader(*headers.begin())))
    return failure();
  for (Operation &op : *module.getBody())
    if (failed(writeTable(&op)))
      return failure();
  if (failed(checkTableSizes()))
    return failure();
  for (StateOp state : module.getOps<StateOp>())
    if (failed(writeState(state)))
      return failure();
  for (ProgramOp program : module.getOps<ProgramOp>())
    if (failed(writeProgram(program, *plan.programs[indices.lookup(program.getSymName())])))
      return failure();
  plan.state_layout = stateLayoutHash(plan);
  for (ModuleOp kind : module.getOps<ModuleOp>()) {
    FailureOr<std::unique_ptr<fb::PlanT>> other = PlanWriter(kind).write();
    if (failed(other))
      return failure();
    plan.kinds.push_back(std::move(*other));
  }
  return std::move(result);
}

} // namespace

llvm::Expected<std::string> writePlan(ModuleOp module, const std::map<std::string, std::string> &facts) {
  std::string message;
  ScopedDiagnosticHandler handler(module.getContext(),
                                  [&](Diagnostic &diagnostic) { message = messageOf(diagnostic); });
  FailureOr<std::unique_ptr<fb::PlanT>> plan = PlanWriter(module).write();
  if (failed(plan))
    return llvm::createStringError(message);
  for (const auto &[key, value] : facts) {
    (*plan)->properties.push_back(std::make_unique<fb::PropertyT>());
    (*plan)->properties.back()->key = key;
    (*plan)->properties.back()->value = value;
  }
  // Packed twice: the seal of what a plan declares is computed from the packed tables, as the reader does, and is
  // itself a field in them.
  flatbuffers::FlatBufferBuilder builder;
  auto pack = [&] { fb::FinishPlanBuffer(builder, fb::Plan::Pack(builder, plan->get())); };
  pack();
  const fb::Plan *packed = fb::GetPlan(builder.GetBufferPointer());
  (*plan)->declared = declarationsHash(*packed);
  for (size_t i = 0; i < (*plan)->kinds.size(); ++i)
    (*plan)->kinds[i]->declared = declarationsHash(*packed->kinds()->Get(static_cast<unsigned>(i)));
  builder.Clear();
  pack();
  return std::string(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
}

} // namespace cleave::plan

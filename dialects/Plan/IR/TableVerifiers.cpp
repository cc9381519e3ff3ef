// Verifiers of the plan's tables: header, regions, groups, states, kernels, programs, ports.
#include "dialects/Plan/IR/Plan.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace cleave::plan {

int64_t elementBytes(Type type) { return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8); }

HeaderOp findHeader(Operation *from) {
  auto module = from->getParentOfType<ModuleOp>();
  if (!module)
    return nullptr;
  auto headers = module.getOps<HeaderOp>();
  return headers.empty() ? nullptr : *headers.begin();
}

// Ops are verified in the order of the text, so the header may come after them and may be wrong.
std::optional<int64_t> sizeOfAxis(Operation *from, StringRef name) {
  HeaderOp header = findHeader(from);
  if (!header)
    return std::nullopt;
  for (auto [axis, size] : llvm::zip(header.getAxes().getAsRange<StringAttr>(), header.getSizes()))
    if (axis.getValue() == name)
      return size > 0 ? std::optional<int64_t>(size) : std::nullopt;
  return std::nullopt;
}

std::optional<int64_t> ranksOnAxes(Operation *from, ArrayAttr axes) {
  int64_t ranks = 1;
  for (Attribute axis : axes ? axes.getValue() : ArrayRef<Attribute>()) {
    std::optional<int64_t> size = sizeOfAxis(from, cast<StringAttr>(axis).getValue());
    if (!size || llvm::MulOverflow(ranks, *size, ranks))
      return std::nullopt;
  }
  return ranks;
}

// Returns the elements of a type; nullopt if a size is not static, or they exceed 2^63 - 1.
static std::optional<int64_t> elementsOf(RankedTensorType type) {
  if (!type.hasStaticShape())
    return std::nullopt;
  int64_t elements = 1;
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(elements, size, elements))
      return std::nullopt;
  return elements;
}

// True if the number fits in 32 bits, which the plan's file has for counts and positions in tables.
static bool fits32Bits(int64_t number) { return number >= 0 && number <= std::numeric_limits<uint32_t>::max(); }

// Checks that `elements` of the type from `offset` on are inside a frame of the region. Offsets are in bytes.
static LogicalResult verifyPlace(Operation *op, llvm::StringRef region, int64_t offset, Type type, int64_t elements) {
  int64_t bytes = 0;
  if (llvm::MulOverflow(elements, elementBytes(type), bytes))
    return op->emitOpError("expected at most 2^63 - 1 bytes; got: ") << elements << " elements of " << type;
  auto found = SymbolTable::lookupNearestSymbolFrom<RegionOp>(op, StringAttr::get(op->getContext(), region));
  if (!found)
    return op->emitOpError("expected a region; got: \"") << region << "\"";
  if (offset < 0 || bytes > found.getBytes() || offset > found.getBytes() - bytes)
    return op->emitOpError("expected to lie inside of region \"")
           << region << "\" of " << found.getBytes() << " bytes; got: " << bytes << " bytes at " << offset;
  return success();
}

LogicalResult HeaderOp::verify() {
  if (getAxes().size() != getSizes().size())
    return emitOpError("expected as many sizes as axes; got: ") << getSizes().size() << " for " << getAxes().size();
  for (int64_t size : getSizes())
    if (size <= 0 || !fits32Bits(size))
      return emitOpError("expected positive sizes below 2^32; got: ") << size;
  if (!fits32Bits(getThreads()))
    return emitOpError("expected a number of threads below 2^32; got: ") << getThreads();
  if (getStreams().empty())
    return emitOpError("expected at least one stream; got: none");
  if (getMicroBatches() <= 0 || !fits32Bits(getMicroBatches()))
    return emitOpError("expected a positive number of micro-batches below 2^32; got: ") << getMicroBatches();
  if (ArrayAttr dataAxes = getDataAxesAttr())
    for (Attribute axis : dataAxes)
      if (!llvm::is_contained(getAxes(), axis))
        return emitOpError("expected data axes to be axes; got: ") << axis;
  for (NamedAttribute range : getWhereAttr() ? getWhereAttr().getValue() : ArrayRef<NamedAttribute>()) {
    auto *axis = llvm::find(getAxes(), Attribute(range.getName()));
    auto bounds = dyn_cast<DenseI64ArrayAttr>(range.getValue());
    if (axis == getAxes().end() || !bounds || bounds.size() != 2 || bounds[0] < 0 || bounds[0] >= bounds[1] ||
        bounds[1] > getSizes()[axis - getAxes().begin()])
      return emitOpError("expected a kind's ranges to lie on axes, [begin, end); got: ")
             << range.getName() << " = " << range.getValue();
  }
  return success();
}

LogicalResult RegionOp::verify() {
  if (getBytes() < 0 || getFrames() <= 0 || !fits32Bits(getFrames()))
    return emitOpError("expected bytes that are not negative, and frames from 1 to 2^32 - 1; got: ")
           << getBytes() << " bytes, " << getFrames() << " frames";
  return success();
}

LogicalResult EventOp::verify() {
  if (getFrames() <= 0 || !fits32Bits(getFrames()))
    return emitOpError("expected frames from 1 to 2^32 - 1; got: ") << getFrames();
  return success();
}

LogicalResult GroupOp::verify() {
  if (!ranksOnAxes(*this, getAxes()))
    return emitOpError("expected axes of the header; got: ") << getAxes();
  for (NamedAttribute places : getOnlyAttr() ? getOnlyAttr().getValue() : ArrayRef<NamedAttribute>()) {
    auto coordinates = dyn_cast<DenseI64ArrayAttr>(places.getValue());
    bool areRight = llvm::is_contained(getAxes(), Attribute(places.getName())) && coordinates && !coordinates.empty();
    int64_t next = 0, size = sizeOfAxis(*this, places.getName()).value_or(0);
    for (int64_t coordinate : areRight ? coordinates.asArrayRef() : ArrayRef<int64_t>()) {
      areRight = areRight && coordinate >= next && coordinate < size;
      next = coordinate + 1;
    }
    if (!areRight)
      return emitOpError("expected coordinates of the group's axes, ascending; got: ")
             << places.getName() << " = " << places.getValue();
  }
  return success();
}

std::optional<int64_t> GroupOp::getRanks() {
  std::optional<int64_t> ranks = ranksOnAxes(*this, getAxes());
  for (NamedAttribute places : getOnlyAttr() ? getOnlyAttr().getValue() : ArrayRef<NamedAttribute>()) {
    std::optional<int64_t> size = sizeOfAxis(*this, places.getName());
    auto coordinates = dyn_cast<DenseI64ArrayAttr>(places.getValue());
    if (!ranks || !size || !coordinates)
      return std::nullopt;
    ranks = *ranks / *size * coordinates.size();
  }
  return ranks;
}

LogicalResult StateOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (type.getRank() != 1)
    return emitOpError("expected a flat type; got: ") << type;
  std::optional<int64_t> elements = elementsOf(type), ranks = ranksOnAxes(*this, getSplitAxesAttr());
  if (!ranks || *elements % *ranks != 0)
    return emitOpError("expected axes of the header that cut the state evenly; got: ") << getSplitAxesAttr();
  if (!ranksOnAxes(*this, getPartialAxesAttr()))
    return emitOpError("expected partial_axes to be axes of the header; got: ") << getPartialAxesAttr();
  for (auto segment : getSegments().getAsRange<SegmentAttr>()) {
    std::optional<int64_t> own = elementsOf(segment.getType());
    if (segment.getOffset() < 0 || !own || *own > *elements || segment.getOffset() > *elements - *own)
      return emitOpError("expected segments inside of the state; got: ") << segment;
    if (!fits32Bits(segment.getGroup()))
      return emitOpError("expected a parameter group from 0 to 2^32 - 1; got: ") << segment;
    if (segment.getAxis() && !sizeOfAxis(*this, segment.getAxis()))
      return emitOpError("expected a coordinate's axis to be one of the header; got: ") << segment;
  }
  return verifyPlace(*this, getRegion(), getOffset(), type.getElementType(), *elements / *ranks);
}

LogicalResult OperandAttr::verify(function_ref<InFlightDiagnostic()> emitError, Type element, int64_t bytes,
                                  Access access, int64_t over) {
  if (bytes < 0)
    return emitError() << "expected bytes that are not negative; got: " << bytes;
  return success();
}

llvm::SmallVector<OperandAttr> KernelOp::getOperandList() {
  std::optional<ArrayAttr> list = getOperands();
  return list ? llvm::to_vector(list->getAsRange<OperandAttr>()) : llvm::SmallVector<OperandAttr>();
}

LogicalResult KernelOp::verify() {
  if (getExtent() <= 0)
    return emitOpError("expected a positive extent; got: ") << getExtent();
  if (getKind() == KernelKind::Generated && !getParams().empty())
    return emitOpError("expected no parameters for a generated kernel; got: ") << getParams().size();
  if (getKind() == KernelKind::Generated ? getScratch() != 0 : getScratch() < 0)
    return emitOpError("expected scratch of a library kernel only, and not negative; got: ") << getScratch();
  if (getKind() != KernelKind::Generated && getCode() != 0)
    return emitOpError("expected code of a generated kernel only; got: ") << stringifyKernelKind(getKind());
  if (getKind() != KernelKind::Generated && getDepends())
    return emitOpError("expected depends of a generated kernel only; got: ") << stringifyKernelKind(getKind());
  if (getKind() != KernelKind::Generated && getOperands())
    return emitOpError("expected operands of a generated kernel only; got: ") << stringifyKernelKind(getKind());
  auto list = getOperandList();
  for (OperandAttr operand : list) {
    int64_t over = operand.getOver(), count = list.size();
    if (over == -1)
      continue;
    if (over < 0 || over >= count || operand.getAccess() != Access::Write || list[over].getAccess() != Access::Read ||
        list[over].getBytes() != operand.getBytes())
      return emitOpError("expected an operand to be written over one of equally many bytes that is read; got: ")
             << operand;
  }
  return success();
}

// Checks that the program's own events are recorded once, and before they are waited for.
static LogicalResult verifyEvents(ProgramOp program) {
  llvm::SmallVector<Operation *> recorded(std::min<int64_t>(program.getEvents(), 1 << 24), nullptr);
  auto inRange = [&](int64_t event) { return event < static_cast<int64_t>(recorded.size()); };
  for (Operation &op : program.getBody().front()) {
    if (auto record = dyn_cast<RecordOp>(op); record && record.getOwnEvent() >= 0) {
      int64_t event = record.getOwnEvent();
      if (!inRange(event))
        return record.emitOpError("expected an event below ") << recorded.size() << "; got: " << event;
      Operation *&first = recorded[event];
      if (first)
        return (record.emitOpError("expected to record an event once; got: ") << event).attachNote(first->getLoc())
               << "recorded here before";
      first = record;
    }
    if (auto wait = dyn_cast<WaitOp>(op); wait && wait.getOwnEvent() >= 0)
      if (!inRange(wait.getOwnEvent()) || !recorded[wait.getOwnEvent()])
        return wait.emitOpError("expected an event that is recorded before; got: ") << wait.getOwnEvent();
  }
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  if (!fits32Bits(getEvents()))
    return emitOpError("expected a number of events from 0 to 2^32 - 1; got: ") << getEvents();
  HeaderOp header = findHeader(*this);
  bool portsOver = false;
  for (Operation &op : getBody().front()) {
    if (isa<InputOp, OutputOp>(op)) {
      if (portsOver)
        return op.emitOpError("expected ports before instructions");
      continue;
    }
    portsOver = true;
    auto instruction = dyn_cast<InstructionOpInterface>(op);
    if (!instruction)
      return op.emitOpError("expected only ports and instructions in a program");
    if (header && llvm::none_of(header.getStreams().getAsRange<StringAttr>(),
                                [&](StringAttr name) { return name.getValue() == instruction.getStreamName(); }))
      return op.emitOpError("expected a stream of the header; got: \"") << instruction.getStreamName() << "\"";
  }
  return verifyEvents(*this);
}

template <typename Port> static LogicalResult verifyPort(Port port) {
  auto type = cast<RankedTensorType>(port.getType());
  int64_t batchDim = port.getBatchDim();
  if (batchDim < -1 || batchDim >= type.getRank())
    return port.emitOpError("expected a dimension or -1 as batch_dim; got: ") << batchDim;
  if (!ranksOnAxes(port, port.getSplitAxesAttr()))
    return port.emitOpError("expected split_axes to be axes of the header; got: ") << port.getSplitAxesAttr();
  std::optional<StringRef> region = port.getRegion();
  if (!region) // another kind of ranks has it
    return success();
  std::optional<int64_t> elements = elementsOf(type);
  if (!elements)
    return port.emitOpError("expected at most 2^63 - 1 elements; got: ") << type;
  return verifyPlace(port, *region, port.getOffset(), type.getElementType(), *elements);
}

LogicalResult InputOp::verify() { return verifyPort(*this); }
LogicalResult OutputOp::verify() { return verifyPort(*this); }

} // namespace cleave::plan

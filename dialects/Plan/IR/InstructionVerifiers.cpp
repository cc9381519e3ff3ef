// Verifiers of the instructions. They do not check whether a plan is free of races: see
// compiler/Planning/Verify/PlanVerifier.h.
#include "dialects/Plan/IR/Plan.h"

using namespace mlir;

namespace cleave::plan {

LogicalResult BufferAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr region, int64_t offset,
                                 int64_t bytes, Access access, FlatSymbolRefAttr group, int64_t stride, int64_t frame) {
  if (offset < 0 || bytes < 0)
    return emitError() << "expected an offset and bytes that are not negative; got: " << bytes << " bytes at "
                       << offset;
  if (offset > std::numeric_limits<int64_t>::max() - bytes)
    return emitError() << "expected an end of at most 2^63 - 1; got: " << bytes << " bytes at " << offset;
  if (group ? stride < bytes : stride != 0)
    return emitError() << "expected shares that do not overlap; got: " << bytes << " bytes every " << stride;
  if (frame < std::numeric_limits<int16_t>::min() || frame > std::numeric_limits<int16_t>::max())
    return emitError() << "expected a frame near the running program's; got: " << frame;
  return success();
}

static LogicalResult verifyAccess(Operation *op, llvm::StringRef name, BufferAttr buffer, Access expected) {
  if (buffer.getAccess() == expected)
    return success();
  return op->emitOpError("expected ") << name << " to be " << stringifyAccess(expected)
                                      << "; got: " << stringifyAccess(buffer.getAccess());
}

LogicalResult LaunchOp::verify() { return success(); }

// True if two buffers of an instruction are in one place of their region. A region of n frames has frame f in place f
// modulo n.
static bool shareFrame(Operation *op, BufferAttr a, BufferAttr b) {
  auto region = SymbolTable::lookupNearestSymbolFrom<RegionOp>(op->getParentOp(), a.getRegion());
  int64_t frames = region && region.getFrames() > 0 ? static_cast<int64_t>(region.getFrames()) : 0;
  int64_t apart = a.getFrame() - b.getFrame();
  return frames == 0 ? apart == 0 : apart % frames == 0;
}

// True if the buffers of an instruction overlap on every rank. Whether different kinds of shares overlap depends on the
// rank's group: openPlan() checks that.
static bool surelyOverlap(Operation *op, BufferAttr a, BufferAttr b) {
  return a.getRegion() == b.getRegion() && a.getGroup() == b.getGroup() && a.getStride() == b.getStride() &&
         a.getOffset() < b.getOffset() + b.getBytes() && b.getOffset() < a.getOffset() + a.getBytes() &&
         shareFrame(op, a, b);
}

LogicalResult CopyOp::verify() {
  BufferAttr target = getTarget(), source = getSource();
  if (failed(verifyAccess(*this, "target", target, Access::Write)) ||
      failed(verifyAccess(*this, "source", source, Access::Read)))
    return failure();
  if (target.getBytes() != source.getBytes())
    return emitOpError("expected equally many bytes; got: ") << target.getBytes() << " and " << source.getBytes();
  if (surelyOverlap(*this, target, source))
    return emitOpError("expected target and source not to overlap; got: ") << target << " and " << source;
  return success();
}

LogicalResult FillOp::verify() {
  if (failed(verifyAccess(*this, "target", getTarget(), Access::Write)))
    return failure();
  int64_t width = getWidth();
  if ((width != 1 && width != 2 && width != 4 && width != 8) || getTarget().getBytes() % width != 0)
    return emitOpError("expected a width of 1, 2, 4 or 8 that divides the bytes; got: ")
           << width << " for " << getTarget().getBytes() << " bytes";
  return success();
}

template <typename Op> static LogicalResult verifyEvent(Op op) {
  auto number = dyn_cast<IntegerAttr>(op.getEvent());
  if (number && number.getInt() < 0)
    return op.emitOpError("expected an event that is not negative; got: ") << number.getInt();
  if (number && op.getFrame() != 0)
    return op.emitOpError("expected no frame of an event of the program's own; got: ") << op.getFrame();
  return success();
}
LogicalResult RecordOp::verify() { return verifyEvent(*this); }
LogicalResult WaitOp::verify() { return verifyEvent(*this); }

LogicalResult CallOp::verify() {
  if (getTimes() < 0)
    return emitOpError("expected times that are not negative; got: ") << getTimes();
  if (getSkip() < 0)
    return emitOpError("expected frames to leave out that are not negative; got: ") << getSkip();
  return success();
}

static LogicalResult verifyElements(Operation *op, BufferAttr data, Type dtype, int64_t count) {
  if (!dtype.isIntOrFloat())
    return op->emitOpError("expected an integer or float type; got: ") << dtype;
  int64_t bytes = 0;
  if (count < 0 || llvm::MulOverflow(count, elementBytes(dtype), bytes) || data.getBytes() != bytes)
    return op->emitOpError("expected data of `count` elements; got: ")
           << data.getBytes() << " bytes for " << count << " elements of " << dtype;
  return success();
}
static LogicalResult verifyData(Operation *op, BufferAttr data, Type dtype, int64_t count) {
  if (failed(verifyAccess(op, "data", data, Access::ReadWrite)))
    return failure();
  return verifyElements(op, data, dtype, count);
}
template <typename Op> static LogicalResult verifyReducing(Op op) {
  if (failed(verifyData(op, op.getData(), op.getDtype(), op.getCount())))
    return failure();
  return verifyAccess(op, "staging", op.getStaging(), Access::Write);
}
LogicalResult AllReduceOp::verify() { return verifyReducing(*this); }
LogicalResult ReduceScatterOp::verify() { return verifyReducing(*this); }
LogicalResult AllGatherOp::verify() { return verifyData(*this, getData(), getDtype(), getCount()); }
LogicalResult ReduceOp::verify() { return verifyReducing(*this); }
LogicalResult BroadcastOp::verify() {
  if (getData().getAccess() == Access::ReadWrite)
    return emitOpError("expected data to be read, by the root, or written; got: read_write");
  return verifyElements(*this, getData(), getDtype(), getCount());
}

template <typename Op> static LogicalResult verifyTransfer(Op op, StringRef name, BufferAttr buffer, Access expected) {
  if (findHeader(op)) {
    std::optional<int64_t> size = sizeOfAxis(op, op.getAxis());
    if (!size)
      return op.emitOpError("expected an axis of the header; got: ") << op.getAxisAttr();
    int64_t offset = op.getOffset();
    if (offset == 0 || offset <= -*size || offset >= *size)
      return op.emitOpError("expected another one of the ")
             << *size << " ranks on axis " << op.getAxisAttr() << "; got: the rank " << offset << " further on";
  }
  if (op.getChannel() < 0)
    return op.emitOpError("expected a channel that is not negative; got: ") << op.getChannel();
  if (failed(verifyAccess(op, name, buffer, expected)))
    return failure();
  return verifyElements(op, buffer, op.getDtype(), op.getCount());
}
LogicalResult SendOp::verify() { return verifyTransfer(*this, "source", getSource(), Access::Read); }
LogicalResult RecvOp::verify() { return verifyTransfer(*this, "target", getTarget(), Access::Write); }

template <typename Symbol, typename Op>
static Symbol lookUp(Op op, SymbolTableCollection &symbols, FlatSymbolRefAttr name, llvm::StringRef what) {
  auto found = symbols.lookupNearestSymbolFrom<Symbol>(op->getParentOp(), name.getAttr());
  if (!found)
    op.emitOpError("expected a ") << what << "; got: " << name;
  return found;
}

// Checks what two buffers of a generated kernel have in common.
static LogicalResult verifyApart(LaunchOp launch, ArrayRef<OperandAttr> operands, ArrayRef<BufferAttr> buffers,
                                 int64_t i, int64_t j) {
  BufferAttr a = buffers[i], b = buffers[j];
  bool areOne = a.getRegion() == b.getRegion() && a.getOffset() == b.getOffset() && a.getBytes() == b.getBytes() &&
                a.getGroup() == b.getGroup() && a.getStride() == b.getStride() && a.getFrame() == b.getFrame();
  bool mustBeOne = operands[i].getOver() == j || operands[j].getOver() == i;
  if (mustBeOne && !areOne)
    return launch.emitOpError("expected buffers ")
           << i << " and " << j << " to be one, for kernel " << launch.getKernelAttr() << " works in place; got: " << a
           << " and " << b;
  bool written = a.getAccess() != Access::Read || b.getAccess() != Access::Read;
  if (!mustBeOne && written && surelyOverlap(launch, a, b))
    return launch.emitOpError("expected buffers ") << i << " and " << j << " of kernel " << launch.getKernelAttr()
                                                   << " not to overlap; got: " << a << " and " << b;
  return success();
}

// Checks the operands of a generated kernel. openPlan() checks those of other kernels.
static LogicalResult verifyOperands(LaunchOp launch, KernelOp kernel) {
  if (kernel.getKind() != KernelKind::Generated)
    return success();
  llvm::SmallVector<OperandAttr> operands = kernel.getOperandList();
  llvm::SmallVector<BufferAttr> buffers = llvm::to_vector(launch.getOperands().getAsRange<BufferAttr>());
  if (buffers.size() != operands.size())
    return launch.emitOpError("expected ")
           << operands.size() << " buffers for kernel " << launch.getKernelAttr() << "; got: " << buffers.size();
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::string name = ("buffer " + llvm::Twine(i) + " of kernel @" + launch.getKernel()).str();
    if (failed(verifyAccess(launch, name, buffers[i], operands[i].getAccess())))
      return failure();
    if (buffers[i].getBytes() != operands[i].getBytes())
      return launch.emitOpError("expected ")
             << operands[i].getBytes() << " bytes for " << name << "; got: " << buffers[i].getBytes();
    for (size_t j = 0; j < i; ++j)
      if (failed(verifyApart(launch, operands, buffers, j, i)))
        return failure();
  }
  return success();
}

template <typename Op> static LogicalResult verifyShared(Op op, SymbolTableCollection &symbols) {
  auto symbol = dyn_cast<FlatSymbolRefAttr>(op.getEvent());
  return success(!symbol || lookUp<EventOp>(op, symbols, symbol, "shared event"));
}
LogicalResult RecordOp::verifySymbolUses(SymbolTableCollection &symbols) { return verifyShared(*this, symbols); }
LogicalResult WaitOp::verifySymbolUses(SymbolTableCollection &symbols) { return verifyShared(*this, symbols); }

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = lookUp<KernelOp>(*this, symbols, getKernelAttr(), "kernel");
  return kernel ? verifyOperands(*this, kernel) : failure();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = lookUp<ProgramOp>(*this, symbols, getProgramAttr(), "program");
  if (!callee)
    return failure();
  if (callee.getEntry())
    return (emitOpError("expected a program that is not an entry; got: ") << getProgramAttr())
               .attachNote(callee.getLoc())
           << "declared as entry here";
  return success();
}

template <typename Op> static FailureOr<int64_t> groupRanks(Op op, SymbolTableCollection &symbols) {
  auto group = lookUp<GroupOp>(op, symbols, op.getGroupAttr(), "group");
  if (!group)
    return failure();
  int64_t ranks = group.getRanks().value_or(1);
  if (static_cast<int64_t>(op.getCount()) % ranks != 0)
    return op.emitOpError("expected a count that is a multiple of the group's ")
           << ranks << " ranks; got: " << op.getCount();
  return ranks;
}
template <typename Op> static LogicalResult verifyStaging(Op op, SymbolTableCollection &symbols) {
  FailureOr<int64_t> ranks = groupRanks(op, symbols);
  if (failed(ranks))
    return failure();
  if (op.getStaging().getBytes() < op.getData().getBytes() / *ranks)
    return op.emitOpError("expected staging of at least ")
           << op.getData().getBytes() / *ranks << " bytes; got: " << op.getStaging().getBytes();
  return success();
}
LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &symbols) { return verifyStaging(*this, symbols); }
LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyStaging(*this, symbols);
}
LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(succeeded(groupRanks(*this, symbols)));
}
template <typename Op> static LogicalResult verifyRoot(Op op, SymbolTableCollection &symbols) {
  FailureOr<int64_t> ranks = groupRanks(op, symbols);
  if (failed(ranks))
    return failure();
  if (op.getRoot() < 0 || op.getRoot() >= *ranks)
    return op.emitOpError("expected a root below the group's ") << *ranks << " ranks; got: " << op.getRoot();
  return success();
}
LogicalResult ReduceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return failed(verifyStaging(*this, symbols)) ? failure() : verifyRoot(*this, symbols);
}
LogicalResult BroadcastOp::verifySymbolUses(SymbolTableCollection &symbols) { return verifyRoot(*this, symbols); }

} // namespace cleave::plan

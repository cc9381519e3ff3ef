// States, their readers and writers: verifiers and effects.
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/OpSupport.h"

using namespace cleave;
using mlir::failure;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::success;

//===----------------------------------------------------------------------===//
// state
//===----------------------------------------------------------------------===//

// Checks that segments are inside the state, in ascending order, without overlap, and begin at multiples of 128 bytes.
static LogicalResult verifyBucket(StateOp state) {
  RankedTensorType type = state.getTensorType();
  int64_t bytes = byteSize(type.clone({1})), end = 0;
  for (auto segment : state.getSegments().getAsRange<SegmentAttr>()) {
    if (segment.getOffset() < end)
      return state.emitOpError("segments ascend without overlap; got: ")
             << segment.getName() << " at " << segment.getOffset() << " where the one before ends at " << end;
    int64_t elements = isCountable(segment.getType()) ? segment.getType().getNumElements() : -1;
    if (elements < 0 || elements > type.getNumElements() || segment.getOffset() > type.getNumElements() - elements)
      return state.emitOpError("segments lie inside the state; got: ")
             << segment.getName() << " of " << segment.getType() << " at " << segment.getOffset() << " of " << type;
    if (segment.getOffset() * bytes % 128 != 0)
      return state.emitOpError("a segment begins on a multiple of 128 bytes; got: ")
             << segment.getName() << " at byte " << segment.getOffset() * bytes;
    end = segment.getOffset() + elements;
  }
  return success();
}

LogicalResult StateOp::verify() {
  RankedTensorType type = getTensorType();
  if (getSegments().empty())
    return emitOpError("needs at least one segment, which says how it begins; got: none");
  for (auto segment : getSegments().getAsRange<SegmentAttr>())
    if (segment.getType().getElementType() != type.getElementType())
      return emitOpError("segments have the state's element type; got: ") << segment.getType() << " in " << type;
  auto first = llvm::cast<SegmentAttr>(getSegments()[0]);
  bool isWhole = getSegments().size() == 1 && first.getOffset() == 0 && first.getType() == type;
  if (!isWhole && type.getRank() != 1)
    return emitOpError("holds one tensor of its own type at offset 0, or has rank 1 and is a bucket; got: ") << type;
  if (getStorage() && static_cast<int64_t>(getStorage()->getDims().size()) != type.getRank())
    return emitOpError("storage lists axes for every dimension; got: ") << *getStorage() << " for " << type;
  return isWhole ? success() : verifyBucket(*this);
}

//===----------------------------------------------------------------------===//
// read, write
//===----------------------------------------------------------------------===//

namespace {
// The resource that reads and writes access. It is separate, so that ops on other memory do not come in between.
struct StateResource : mlir::SideEffects::Resource::Base<StateResource> {
  llvm::StringRef getName() final { return "CleaveState"; }
};
} // namespace

// Returns the type that one rank stores, if storage and mesh are known.
static RankedTensorType storedType(StateOp state) {
  auto mesh = state->getParentOfType<mlir::ModuleOp>()->getAttrOfType<MeshAttr>(kMeshAttr);
  return mesh && state.getStorage() ? state.getStorage()->getLocalType(state.getTensorType(), mesh)
                                    : state.getTensorType();
}

static LogicalResult verifyAccess(mlir::Operation *op, mlir::FlatSymbolRefAttr name, mlir::Type type,
                                  mlir::SymbolTableCollection &symbols) {
  auto state = symbols.lookupNearestSymbolFrom<StateOp>(op, name);
  if (!state)
    return op->emitOpError("names a cleave.state of this module; got: ") << name;
  if (type == state.getTensorType() || type == storedType(state))
    return success();
  auto error = op->emitOpError("has the state's type, or the type that one rank stores; got: ") << type;
  error.attachNote(state.getLoc()) << "the state is " << state.getTensorType() << ", a rank stores "
                                   << storedType(state);
  return error;
}

LogicalResult ReadOp::verifySymbolUses(mlir::SymbolTableCollection &symbols) {
  return verifyAccess(*this, getStateAttr(), getResult().getType(), symbols);
}

LogicalResult WriteOp::verifySymbolUses(mlir::SymbolTableCollection &symbols) {
  return verifyAccess(*this, getStateAttr(), getValue().getType(), symbols);
}

using Effects = llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>;

void ReadOp::getEffects(Effects &effects) {
  effects.emplace_back(mlir::MemoryEffects::Read::get(), getStateAttr(), StateResource::get());
}

void WriteOp::getEffects(Effects &effects) {
  effects.emplace_back(mlir::MemoryEffects::Write::get(), getStateAttr(), StateResource::get());
}

//===----------------------------------------------------------------------===//
// kernel
//===----------------------------------------------------------------------===//

LogicalResult KernelOp::verify() {
  mlir::Block &body = getBody().front();
  if (body.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("the body's arguments have the inputs' types; got: ")
           << body.getArgumentTypes() << " for " << getInputs().getTypes();
  auto yield = llvm::dyn_cast<YieldOp>(body.getTerminator());
  if (!yield)
    return emitOpError("the body ends with cleave.yield; got: ") << body.getTerminator()->getName();
  if (yield.getValues().getTypes() != getResults().getTypes())
    return emitOpError("the body yields values of the results' types; got: ")
           << yield.getValues().getTypes() << " for " << getResults().getTypes();
  std::optional<llvm::ArrayRef<int64_t>> tied = getTied();
  if (!tied)
    return success();
  if (tied->size() != getNumResults())
    return emitOpError("tied has one entry for every result; got: ") << tied->size() << " for " << getNumResults();
  for (int64_t input : *tied)
    if (input < -1 || input >= static_cast<int64_t>(getInputs().size()))
      return emitOpError("tied names an input, or is -1; got: ") << input;
  return success();
}

// Called by the parser for a body without a terminator.
void YieldOp::build(mlir::OpBuilder &, mlir::OperationState &) {}

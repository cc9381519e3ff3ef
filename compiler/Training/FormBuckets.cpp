#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Buckets.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_FORMBUCKETS
#include "compiler/Training/Passes.h.inc"

namespace {

// Where a former state lies now.
struct Place {
  StateOp bucket;
  int64_t offset;
  RankedTensorType type;
};
using Places = llvm::StringMap<Place>;

// The bucket's state `name` for the states `members`, and their places in it.
StateOp declareBucket(ModuleOp module, StringRef name, const Bucket &bucket, ArrayRef<StateOp> members,
                      Places &places) {
  SmallVector<Attribute> segments;
  for (auto [member, offset] : llvm::zip_equal(members, bucket.offsets)) {
    StateOp state = member;
    SegmentAttr old = onlySegment(state);
    segments.push_back(SegmentAttr::get(module.getContext(), old.getName(), old.getType(), offset, old.getGroup(),
                                        old.getInit(), old.getAliases()));
  }
  StateOp first = members.front();
  auto type = RankedTensorType::get({bucket.elements}, first.getTensorType().getElementType());
  StateOp result = addState(module, name, type, first.getRole(), ArrayAttr::get(module.getContext(), segments),
                            first.getSlot().value_or(""));
  for (auto [member, offset] : llvm::zip_equal(members, bucket.offsets)) {
    StateOp state = member;
    places[state.getSymName()] = {result, offset, state.getTensorType()};
  }
  return result;
}

// Turns a function's reads and writes of former states into those of their buckets.
class FunctionPacker {
public:
  FunctionPacker(func::FuncOp function, const Places &places) : block(function.getBody().front()), places(places) {}

  LogicalResult pack() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto read = dyn_cast<ReadOp>(op))
        packRead(read);
      else if (auto write = dyn_cast<WriteOp>(op); write && places.contains(write.getState()))
        writes[places.find(write.getState())->second.bucket].push_back(write);
    }
    for (auto &[bucket, members] : writes)
      if (failed(packWrites(bucket, members)))
        return failure();
    return success();
  }

private:
  void packRead(ReadOp read) {
    auto found = places.find(read.getState());
    if (found == places.end())
      return;
    Place place = found->second;
    Value &whole = reads[place.bucket];
    if (!whole) {
      OpBuilder atBegin = OpBuilder::atBlockBegin(&block);
      whole = readState(atBegin, place.bucket.getLoc(), place.bucket);
    }
    OpBuilder builder(read);
    Arithmetic a(builder, read.getLoc());
    Value part = a.slice(whole, place.offset, place.type.getNumElements());
    read.replaceAllUsesWith(a.reshape(part, place.type.getShape()));
    read.erase();
  }

  // One concat behind the last member's write, with zeros in the gaps.
  LogicalResult packWrites(StateOp bucket, ArrayRef<WriteOp> members) {
    if (members.size() != bucket.getSegments().size())
      return WriteOp(members.front()).emitError("a function writes a bucket whole; @")
             << bucket.getSymName() << " has " << bucket.getSegments().size() << " members; got: " << members.size();
    SmallVector<WriteOp> ordered(members);
    llvm::sort(ordered, [&](WriteOp a, WriteOp b) { return offsetOf(a) < offsetOf(b); });
    WriteOp last = members.back();
    OpBuilder builder(last);
    Arithmetic a(builder, bucket.getLoc());
    Type element = bucket.getTensorType().getElementType();
    SmallVector<Value> pieces;
    int64_t end = 0;
    auto fillTo = [&](int64_t offset) {
      if (offset > end)
        pieces.push_back(a.splat(RankedTensorType::get({offset - end}, element), 0));
    };
    for (WriteOp write : ordered) {
      fillTo(offsetOf(write));
      int64_t size = tensorType(write.getValue()).getNumElements();
      pieces.push_back(a.reshape(write.getValue(), {size}));
      end = offsetOf(write) + size;
    }
    fillTo(bucket.getTensorType().getNumElements());
    Value whole = pieces.size() == 1 ? pieces[0]
                                     : ConcatOp::create(builder, bucket.getLoc(), pieces, builder.getI64IntegerAttr(0));
    WriteOp::create(builder, bucket.getLoc(), whole, bucket.getSymName());
    for (WriteOp write : members)
      write.erase();
    return success();
  }

  int64_t offsetOf(WriteOp write) const { return places.find(write.getState())->second.offset; }

  Block &block;
  const Places &places;
  llvm::MapVector<Operation *, Value> reads;
  llvm::MapVector<StateOp, SmallVector<WriteOp>> writes;
};

class FormBucketsPass : public impl::FormBucketsBase<FormBucketsPass> {
public:
  using FormBucketsBase::FormBucketsBase;

private:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp joint = lookupFunction(module, "c0");
    if (!joint) {
      module.emitError("expected a function @c0; differentiate makes it");
      return signalPassFailure();
    }
    SmallVector<StateOp> gradients = gradientsInOrder(joint);
    Places places;
    SmallVector<StateOp> packed;
    std::vector<Bucket> buckets = formBuckets(describe(gradients), {bucketBytes, firstBucketBytes, dataRanks});
    for (auto [index, bucket] : llvm::enumerate(buckets))
      declare("bucket" + std::to_string(index), bucket, gradients, places, packed);
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(FunctionPacker(function, places).pack()))
        return signalPassFailure();
    for (StateOp state : packed)
      state.erase();
  }

  // Parameter and gradient buckets of one set of members.
  void declare(const std::string &name, const Bucket &bucket, ArrayRef<StateOp> gradients, Places &places,
               SmallVectorImpl<StateOp> &packed) {
    SmallVector<StateOp> members, parameters;
    for (size_t index : bucket.members) {
      members.push_back(gradients[index]);
      parameters.push_back(getParameterOf(getOperation(), gradients[index]));
    }
    declareBucket(getOperation(), name, bucket, parameters, places);
    declareBucket(getOperation(), gradientName(name), bucket, members, places);
    llvm::append_range(packed, members);
    llvm::append_range(packed, parameters);
  }

  SmallVector<StateOp> gradientsInOrder(func::FuncOp joint) {
    SmallVector<StateOp> gradients;
    for (auto write : joint.getBody().front().getOps<WriteOp>())
      if (StateOp state = lookupState(getOperation(), write.getState()); state.getRole() == Role::Gradient)
        gradients.push_back(state);
    return gradients;
  }

  std::vector<BucketMember> describe(ArrayRef<StateOp> gradients) {
    llvm::MapVector<std::pair<Type, int64_t>, unsigned> kinds;
    std::vector<BucketMember> members;
    for (StateOp state : gradients) {
      Type element = state.getTensorType().getElementType();
      unsigned kind = kinds.try_emplace({element, onlySegment(state).getGroup()}, kinds.size()).first->second;
      members.push_back({state.getTensorType().getNumElements(), element.getIntOrFloatBitWidth() / 8, kind});
    }
    return members;
  }
};
} // namespace
} // namespace cleave

#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Buckets/Buckets.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Narrowing.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_FORMBUCKETS
#include "compiler/Training/Passes.h.inc"

namespace {

// The part of a bucket that a former state has become.
struct BucketSlice {
  StateOp bucket;
  int64_t offset;
  RankedTensorType type; // as it is read
};
using BucketSlices = llvm::StringMap<BucketSlice>;

// The element types in which states are read, if not in the type in which they are stored. A state has such a type if
// all its readers narrow it to that type.
class ReadTypes {
public:
  ReadTypes() = default;
  explicit ReadTypes(ModuleOp module) {
    module.walk([&](ReadOp read) {
      for (Operation *user : read->getUsers())
        add(read, narrows(user) && isa<CastOp>(user) ? tensorType(user->getResult(0)).getElementType() : Type());
    });
  }

  RankedTensorType of(StateOp state) const {
    Type narrow = types.lookup(state.getSymName());
    return narrow ? state.getTensorType().clone(narrow) : state.getTensorType();
  }

private:
  void add(ReadOp read, Type type) {
    auto [known, isNew] = types.try_emplace(read.getState(), type);
    if (!isNew && known->second != type)
      known->second = Type();
  }

  llvm::StringMap<Type> types;
};

// Declares the state `name` of a bucket with the states `members`, and notes the slice of each member.
StateOp declareBucket(SymbolTable &symbols, StringRef name, const Bucket &bucket, ArrayRef<StateOp> members,
                      const ReadTypes &readTypes, BucketSlices &slices) {
  SmallVector<Attribute> segments;
  for (auto [member, offset] : llvm::zip_equal(members, bucket.offsets)) {
    StateOp state = member;
    SegmentAttr old = onlySegment(state);
    segments.push_back(SegmentAttr::get(state.getContext(), old.getName(), old.getType(), offset, old.getGroup(),
                                        old.getInit(), old.getAliases()));
  }
  StateOp first = members.front();
  auto type = RankedTensorType::get({bucket.elements}, first.getTensorType().getElementType());
  StateOp result = addState(symbols, name, type, first.getRole(), ArrayAttr::get(first.getContext(), segments),
                            first.getSlot().value_or(""));
  result.setFrozen(first.getFrozen());
  if (Attribute unit = first->getAttr(kUnitAttr)) // for choose-residuals
    result->setAttr(kUnitAttr, unit);
  if (auto term = first->getAttrOfType<TypeAttr>(kTermTypeAttr))
    result->setAttr(kTermTypeAttr, term);
  for (auto [member, offset] : llvm::zip_equal(members, bucket.offsets)) {
    StateOp state = member;
    slices[state.getSymName()] = {result, offset, readTypes.of(state)};
  }
  return result;
}

// Replaces a function's reads and writes of former states by those of their buckets.
class FunctionPacker {
public:
  // With `sumsWhole`, the terms of an accumulator are concatenated, and the whole bucket is added at once. They can
  // then be reduced together, in their own type. Otherwise each term is added to its own slice, which does not need a
  // second tensor of the bucket's size.
  FunctionPacker(func::FuncOp function, const BucketSlices &slices, bool sumsWhole)
      : block(function.getBody().front()), slices(slices), sumsWhole(sumsWhole) {}

  LogicalResult pack() {
    for (ReadOp read : llvm::to_vector(block.getOps<ReadOp>()))
      packRead(read);
    for (auto write : block.getOps<WriteOp>())
      if (auto found = slices.find(write.getState()); found != slices.end())
        writes[found->second.bucket].push_back(write);
    for (auto &[bucket, members] : writes)
      if (failed(packWrites(bucket, members)))
        return failure();
    return success();
  }

private:
  void packRead(ReadOp read) {
    auto found = slices.find(read.getState());
    if (found == slices.end())
      return;
    BucketSlice slice = found->second;
    Value &whole = reads[slice.bucket];
    if (!whole) { // cast before it is sliced: a sharded bucket is then gathered in the narrow type
      OpBuilder atBegin = OpBuilder::atBlockBegin(&block);
      Value stored = readState(atBegin, slice.bucket.getLoc(), slice.bucket);
      whole = Arithmetic(atBegin, stored.getLoc()).cast(stored, slice.type.getElementType());
    }
    OpBuilder builder(read);
    Arithmetic a(builder, read.getLoc());
    Value part = a.reshape(a.slice(whole, slice.offset, slice.type.getNumElements()), slice.type.getShape());
    if (read.getType() == part.getType())
      read.replaceAllUsesWith(part);
    else
      replaceNarrowing(read, part);
    read.erase();
  }

  static void replaceNarrowing(ReadOp read, Value part) {
    for (Operation *cast : llvm::make_early_inc_range(read->getUsers())) {
      cast->getResult(0).replaceAllUsesWith(part);
      cast->erase();
    }
  }

  // Reports that a function writes only some members of a bucket. It writes all gradients of a bucket, or none, and no
  // forward or backward pass writes parameters, except those that a batch norm updates.
  static LogicalResult refuseTrainedStatistic(WriteOp write) {
    return write.emitError(
               "the initializer that this updates as a running statistic is trained as a weight, too: the file "
               "has one initializer for both (")
           << write.getState()
           << "), because exporters merge tensors of equal values; export the model in training mode, so that they "
              "stay "
              "apart, or freeze the statistics by --batch-norm frozen";
  }

  // Builds one concat after the last member's write, with zeros in the gaps.
  LogicalResult packWrites(StateOp bucket, ArrayRef<WriteOp> members) {
    if (members.size() != bucket.getSegments().size())
      return refuseTrainedStatistic(members.front());
    SmallVector<WriteOp> ordered(members);
    llvm::sort(ordered, [&](WriteOp a, WriteOp b) { return offsetOf(a) < offsetOf(b); });
    Value old = sumsWhole ? oldSum(bucket, ordered) : Value();
    WriteOp last = members.back();
    OpBuilder builder(last);
    Arithmetic a(builder, bucket.getLoc());
    Type stored = bucket.getTensorType().getElementType(), element = stored;
    if (auto term = bucket->getAttrOfType<TypeAttr>(kTermTypeAttr); old && term)
      element = term.getValue();
    SmallVector<Value> pieces;
    int64_t end = 0;
    auto fillTo = [&](int64_t offset) {
      if (offset > end)
        pieces.push_back(a.splat(RankedTensorType::get({offset - end}, element), 0));
    };
    for (WriteOp write : ordered) {
      fillTo(offsetOf(write));
      int64_t size = tensorType(write.getValue()).getNumElements();
      pieces.push_back(a.reshape(old ? narrowed(a, termOf(write, old), element) : write.getValue(), {size}));
      end = offsetOf(write) + size;
    }
    fillTo(bucket.getTensorType().getNumElements());
    Value whole = pieces.size() == 1 ? pieces[0]
                                     : ConcatOp::create(builder, bucket.getLoc(), pieces, builder.getI64IntegerAttr(0));
    whole = a.cast(whole, stored);
    WriteOp::create(builder, bucket.getLoc(), old ? a.add(old, whole) : whole, bucket.getSymName());
    for (WriteOp write : members)
      write.erase();
    return success();
  }

  // Returns a term before it was widened for its accumulator. A constant has been widened by a folder.
  static Value narrowed(Arithmetic &a, Value term, Type element) {
    auto cast = term.getDefiningOp<CastOp>();
    bool isWidened = cast && tensorType(cast.getOperand()).getElementType() == element;
    return isWidened ? cast.getOperand() : a.cast(term, element);
  }

  // Returns the term that `write` adds to its slice of `old`, or null if it does not write such a sum.
  static Value termOf(WriteOp write, Value old) {
    auto sum = write.getValue().getDefiningOp<AddOp>();
    for (int i = 0; sum && i < 2; ++i) {
      Value part = sum.getOperand(i);
      if (auto reshape = part.getDefiningOp<ReshapeOp>())
        part = reshape.getOperand();
      if (auto slice = part.getDefiningOp<SliceOp>()) // there is none if one member is the whole bucket
        part = slice.getOperand();
      if (part == old)
        return sum.getOperand(1 - i);
    }
    return {};
  }

  // Returns the bucket's read if every write is a sum on its own slice of it, otherwise null.
  Value oldSum(StateOp bucket, ArrayRef<WriteOp> members) {
    Value old = reads.lookup(bucket);
    bool isSum = old && llvm::all_of(members, [&](WriteOp write) { return termOf(write, old) != nullptr; });
    return isSum ? old : Value();
  }

  int64_t offsetOf(WriteOp write) const { return slices.find(write.getState())->second.offset; }

  Block &block;
  const BucketSlices &slices;
  bool sumsWhole;
  llvm::MapVector<Operation *, Value> reads;
  llvm::MapVector<StateOp, SmallVector<WriteOp>> writes;
};

class FormBucketsPass : public impl::FormBucketsBase<FormBucketsPass> {
public:
  using FormBucketsBase::FormBucketsBase;

private:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<unsigned> chunks = chunksOf(module);
    if (chunks.empty()) {
      module.emitError("expected a function @c0; differentiate makes it");
      return signalPassFailure();
    }
    SymbolTable symbols(module);
    if (splitParameters)
      readTypes = ReadTypes(module);
    allFurther = furtherGradients(module);
    SmallVector<StateOp> gradients;
    for (unsigned chunk : llvm::reverse(chunks))
      addGradientsInOrder(symbols, chunk, gradients);
    SmallVector<StateOp> trained = llvm::map_to_vector(
        gradients, [&](StateOp gradient) { return symbols.lookup<StateOp>(parameterName(gradient)); });
    for (auto [index, bucket] : llvm::enumerate(form(trained, gradients))) {
      std::string name = "bucket" + std::to_string(index);
      declare(symbols, name, bucket, trained);
      declare(symbols, gradientName(name), bucket, gradients);
      for (StateOp further : allFurther.lookup(gradients[bucket.members.front()].getSymName())) {
        unsigned chunk = *chunkNumber(further.getSymName().rsplit('.').second);
        declareBucket(symbols, furtherGradientName(gradientName(name), chunk), bucket, {further}, readTypes, slices);
        packed.push_back(further);
      }
    }
    SmallVector<StateOp> frozen = splitParameters ? frozenParameters() : SmallVector<StateOp>();
    for (auto [index, bucket] : llvm::enumerate(form(frozen, frozen)))
      declare(symbols, "frozen" + std::to_string(index), bucket, frozen);
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(FunctionPacker(function, slices, sumsWhole).pack()))
        return signalPassFailure();
    for (StateOp state : packed)
      state.erase();
  }

  void declare(SymbolTable &symbols, const std::string &name, const Bucket &bucket, ArrayRef<StateOp> states) {
    SmallVector<StateOp> members = llvm::map_to_vector(bucket.members, [&](size_t index) { return states[index]; });
    declareBucket(symbols, name, bucket, members, readTypes, slices);
    llvm::append_range(packed, members);
  }

  SmallVector<StateOp> frozenParameters() {
    return llvm::to_vector(llvm::make_filter_range(getOperation().getOps<StateOp>(), [](StateOp state) {
      return state.getRole() == Role::Parameter && state.getFrozen();
    }));
  }

  // Adds a chunk's gradients in the order of their writes. Chunks come in descending order, because the backward passes
  // of later chunks run first. Further accumulators of a tied parameter are packed like its first.
  void addGradientsInOrder(const SymbolTable &symbols, unsigned chunk, SmallVector<StateOp> &gradients) {
    func::FuncOp joint = lookupFunction(getOperation(), chunkName(chunk));
    if (!joint)
      return;
    for (auto write : joint.getBody().front().getOps<WriteOp>()) {
      auto state = symbols.lookup<StateOp>(write.getState());
      if (state.getRole() != Role::Gradient || chunkNumber(state.getSymName().rsplit('.').second))
        continue;
      gradients.push_back(state);
      bool isTied = allFurther.contains(state.getSymName());
      groupOf[state] = {chunk, isTied ? static_cast<int64_t>(gradients.size()) : -1};
    }
  }

  // Forms buckets of parameters and their gradients, which are equally many. (For frozen parameters, both lists are the
  // same.) If parameters have units, a unit's members of one kind are one bucket of any size. A bucket belongs to one
  // chunk, whose backward pass writes it whole. A parameter that several chunks use is alone in its bucket.
  std::vector<Bucket> form(ArrayRef<StateOp> parameters, ArrayRef<StateOp> gradients) {
    llvm::MapVector<std::tuple<Type, Type, Type, int64_t, std::pair<unsigned, int64_t>>, unsigned> kinds;
    std::vector<BucketMember> members;
    bool hasUnits = false;
    for (auto [parameter, gradient] : llvm::zip_equal(parameters, gradients)) {
      StateOp state = gradient, weight = parameter;
      Type element = state.getTensorType().getElementType(), stored = weight.getTensorType().getElementType();
      Type read = readTypes.of(weight).getElementType();
      auto unit = weight->getAttrOfType<IntegerAttr>(kUnitAttr);
      hasUnits |= unit != nullptr;
      std::tuple<Type, Type, Type, int64_t, std::pair<unsigned, int64_t>> sort = {
          stored, read, element, unit ? unit.getInt() : -1, groupOf.lookup_or(state, std::make_pair(0u, int64_t(-1)))};
      unsigned kind = kinds.try_emplace(sort, kinds.size()).first->second;
      int64_t bytes = element.getIntOrFloatBitWidth() / 8;
      auto term = state->getAttrOfType<TypeAttr>(kTermTypeAttr);
      int64_t narrowest = std::min({stored.getIntOrFloatBitWidth(), read.getIntOrFloatBitWidth(),
                                    (term ? term.getValue() : element).getIntOrFloatBitWidth()}) /
                          8;
      members.push_back({state.getTensorType().getNumElements(), bytes, kind, std::min(bytes, narrowest),
                         onlySegment(state).getGroup()});
    }
    int64_t unlimited = std::numeric_limits<int64_t>::max();
    return formBuckets(members,
                       {hasUnits ? unlimited : bucketBytes, hasUnits ? unlimited : firstBucketBytes, dataRanks});
  }

  BucketSlices slices;
  ReadTypes readTypes;
  SmallVector<StateOp> packed;
  llvm::StringMap<SmallVector<StateOp>> allFurther; // accumulators of tied parameters
  llvm::DenseMap<Operation *, std::pair<unsigned, int64_t>>
      groupOf; // of a gradient: its chunk, and a number if it is tied
};
} // namespace
} // namespace cleave

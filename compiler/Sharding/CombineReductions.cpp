// combine-reductions: see Passes.td. A walk over the function keeps one *group* open: the last reductions that may
// become one, none of which waits for another, and the ops that wait for them.
#include "compiler/Sharding/Collectives.h"
#include "compiler/Sharding/Passes.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/IR/Reason.h"
#include "runtime/plan/Alignment.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace cleave {
#define GEN_PASS_DEF_COMBINEREDUCTIONS
#include "compiler/Sharding/Passes.h.inc"
} // namespace cleave

using namespace cleave;
using llvm::SmallVector;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;
using mlir::shard::AllReduceOp;

namespace {

// Members begin at multiples of this number of bytes, as every buffer of a plan does.
constexpr int64_t kAlignBytes = rt::kBufferAlignment;
// The members of a group have at most this many times `small-bytes` together, and so have the results that wait for
// them.
constexpr int64_t kMaxFactor = 16;

// True for a value that need not be combined: a bucket is combined already, and the value of a state is reduced in its
// place. The same holds for values that are computed from these element by element (such as the sum of the gradients
// that two stages have for one parameter).
bool isLaidOut(Value value) {
  llvm::SetVector<Value> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i) {
    Operation *maker = values[i].getDefiningOp();
    if (!maker)
      return false;
    bool isConstant = maker->hasTrait<mlir::OpTrait::ConstantLike>();
    if (reshapedOperand(maker) || (isElementwise(maker) && maker->getNumOperands() != 0))
      values.insert(maker->operand_begin(), maker->operand_end());
    else if (!isConstant && !joinedDim(maker) && !llvm::isa<ReadOp>(maker))
      return false;
  }
  return true;
}

struct CombinedReduction {
  SmallVector<AllReduceOp> members;
  llvm::SetVector<Operation *> waiting; // direct and indirect users of members' results, in order
  int64_t bytes = 0, waitingBytes = 0;

  bool isWaiting(Operation *op) const {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      return maker && (waiting.contains(maker) || llvm::is_contained(members, maker));
    });
  }
  // False for a reduction of parts. Concatenated parts of several values are not a part of the concatenated values, in
  // which all parts of one value are next to each other.
  static bool isWhole(AllReduceOp reduce) { return !reduce->hasAttr(kPartAttr); }
  // True if the reduction has the ranks, the kind and the element type of the group.
  bool takes(AllReduceOp reduce) const {
    AllReduceOp first = members.empty() ? reduce : members.front();
    return first.getGridAttr() == reduce.getGridAttr() && first.getGridAxesAttr() == reduce.getGridAxesAttr() &&
           first.getReduction() == reduce.getReduction() &&
           tensorTypeOf(first.getInput()).getElementType() == tensorTypeOf(reduce.getInput()).getElementType();
  }
};

class Combiner {
public:
  Combiner(mlir::Block &block, int64_t smallBytes) : block(block), smallBytes(smallBytes) {}

  void run() {
    for (Operation &op : block.without_terminator())
      visit(&op);
    for (CombinedReduction &group : closed)
      combine(group);
    combine(open);
  }

private:
  void visit(Operation *op) {
    bool waits = open.isWaiting(op);
    if (waits)
      keepWaiting(op);
    else if (readsWhatWaits(op))
      close();
    auto reduce = llvm::dyn_cast<AllReduceOp>(op);
    if (!reduce || !CombinedReduction::isWhole(reduce) || byteSize(reduce.getInput().getType()) > smallBytes ||
        isLaidOut(reduce.getInput()))
      return;
    int64_t bytes = llvm::alignTo(byteSize(reduce.getInput().getType()), kAlignBytes);
    if (waits || !open.takes(reduce) || open.bytes + bytes > kMaxFactor * smallBytes)
      close();
    open.members.push_back(reduce);
    open.bytes += bytes;
  }

  // Ops that wait for a member also wait for members that join later, unless too many bytes would wait.
  void keepWaiting(Operation *op) {
    for (Value result : op->getResults())
      open.waitingBytes += byteSize(result.getType());
    bool canMove = llvm::isa<WriteOp>(op) || mlir::isMemoryEffectFree(op);
    if (!canMove || open.waitingBytes > kMaxFactor * smallBytes)
      return close();
    open.waiting.insert(op);
  }

  bool readsWhatWaits(Operation *op) const {
    auto read = llvm::dyn_cast<ReadOp>(op);
    return read && llvm::any_of(open.waiting, [&](Operation *waiting) {
             auto write = llvm::dyn_cast<WriteOp>(waiting);
             return write && write.getState() == read.getState();
           });
  }

  void close() {
    closed.push_back(std::move(open));
    open = CombinedReduction();
  }

  // Concatenates the members, with zeros as padding between them, and reduces them once, at the place of the last one.
  void combine(CombinedReduction &group) {
    if (group.members.size() < 2)
      return;
    AllReduceOp last = group.members.back();
    mlir::OpBuilder builder(last);
    mlir::Type element = tensorTypeOf(last.getInput()).getElementType();
    int64_t unit = kAlignBytes * 8 / std::max(element.getIntOrFloatBitWidth(), 8u), end = 0;
    SmallVector<Value> pieces;
    SmallVector<int64_t> offsets;
    auto flat = [&](int64_t size) { return RankedTensorType::get({size}, element); };
    for (AllReduceOp member : group.members) {
      Value input = member.getInput();
      int64_t size = tensorTypeOf(input).getNumElements(), padding = llvm::alignTo(size, unit) - size;
      pieces.push_back(ReshapeOp::create(builder, member.getLoc(), flat(size), input));
      if (padding != 0)
        pieces.push_back(splat(builder, member.getLoc(), flat(padding), 0.0));
      offsets.push_back(end);
      end += size + padding;
    }
    Value whole = ConcatOp::create(builder, last.getLoc(), pieces, builder.getI64IntegerAttr(0));
    auto combined = llvm::cast<AllReduceOp>(builder.clone(*last));
    combined.getInputMutable().assign(whole);
    combined.getResult().setType(flat(end));
    SmallVector<mlir::DictionaryAttr> reasons;
    for (AllReduceOp member : group.members)
      if (auto reason = member->getAttrOfType<mlir::DictionaryAttr>(kReasonAttr))
        reasons.push_back(reason);
    if (!reasons.empty())
      combined->setAttr(kReasonAttr, joinReasons(reasons));
    moveWaiting(group, combined);
    for (auto [member, offset] : llvm::zip_equal(group.members, offsets))
      takeApart(member, combined.getResult(), offset);
  }

  void moveWaiting(CombinedReduction &group, AllReduceOp combined) {
    Operation *behind = group.members.back();
    for (Operation *op : group.waiting)
      if (op->isBeforeInBlock(combined)) {
        op->moveAfter(behind);
        behind = op;
      }
  }

  void takeApart(AllReduceOp member, Value whole, int64_t offset) {
    mlir::OpBuilder builder(whole.getContext());
    builder.setInsertionPointAfterValue(whole);
    int64_t size = tensorTypeOf(member.getResult()).getNumElements(), one = 1;
    auto part = SliceOp::create(builder, member.getLoc(), whole, llvm::ArrayRef(offset), llvm::ArrayRef(size),
                                llvm::ArrayRef(one));
    Value shaped = ReshapeOp::create(builder, member.getLoc(), tensorTypeOf(member.getResult()), part);
    member.getResult().replaceAllUsesWith(shaped);
    member.erase();
  }

  mlir::Block &block;
  int64_t smallBytes;
  CombinedReduction open;
  std::vector<CombinedReduction> closed;
};

struct CombineReductions : cleave::impl::CombineReductionsBase<CombineReductions> {
  using CombineReductionsBase::CombineReductionsBase;

  void runOnOperation() override {
    if (!getOperation().isDeclaration())
      Combiner(getOperation().getBody().front(), smallBytes).run();
  }
};
} // namespace

#include "dialects/Cleave/IR/Reason.h"

#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Messages.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace cleave {

// The most ops between a value and the state or the node by which people know it.
static constexpr size_t kMostOps = 256;

// Returns the operand of which the result is another form: converted, moved, or with other tensors of its kind added to
// it. A sum of several states, as the gradients of a tied weight, is a form of the first. Null if there is none.
static Value formedOperand(Operation *op) {
  if (Value carried = carriedOperand(op))
    return carried;
  auto linear = linearOperands(op);
  bool isForm = !linear.empty() && !linear.front().sums && (linear.size() == 1 || addsOperands(op));
  return isForm ? op->getOperand(linear.front().number) : Value();
}

// Returns the state of which the value is a form. Empty if there is none.
static StringRef stateOf(Value value) {
  Operation *op = value.getDefiningOp();
  for (size_t i = 0; op && i < kMostOps; ++i) {
    if (auto read = dyn_cast<ReadOp>(op))
      return read.getState();
    Value formed = formedOperand(op);
    op = formed ? formed.getDefiningOp() : nullptr;
  }
  return "";
}

// True for ops that only move or convert a tensor: a slice of a bucket, the transpose of a weight.
static bool isForm(Operation *op) {
  return carriedOperand(op) || !startsOf(op).empty() || (op->getNumOperands() == 1 && formedOperand(op));
}

// Visits `first`, then the ops that use its results, in their order, then those that use theirs, until `visit` is true.
static void visitUsers(Operation *first, llvm::function_ref<bool(Operation *)> visit) {
  llvm::SetVector<Operation *> open;
  open.insert(first);
  for (size_t i = 0; i < open.size() && i < kMostOps; ++i) {
    if (visit(open[i]))
      return;
    SmallVector<Operation *> users;
    for (Operation *user : open[i]->getUsers())
      if (Operation *inBlock = first->getBlock()->findAncestorOpInBlock(*user))
        users.push_back(inBlock);
    llvm::sort(users, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    open.insert(users.begin(), users.end());
  }
}

std::string tensorNameOf(Value value) {
  for (Operation *user : value.getUsers())
    if (auto write = dyn_cast<WriteOp>(user))
      return "@" + write.getState().str();
  if (StringRef state = stateOf(value); !state.empty())
    return "@" + state.str();
  if (std::string node = nodeNameOf(value.getLoc()); !node.empty())
    return node;
  std::string target;
  for (Operation *user : value.getUsers())
    if (target.empty())
      visitUsers(user, [&](Operation *op) {
        if (auto write = dyn_cast<WriteOp>(op))
          target = "a value for @" + write.getState().str();
        return !target.empty();
      });
  auto function = value.getParentRegion()->getParentOfType<func::FuncOp>();
  return !target.empty() ? target : function ? "a value of @" + function.getName().str() : "a value";
}

std::string describeSharding(ShardingAttr sharding) {
  SmallVector<std::string> parts;
  size_t rank = sharding.getDims().size();
  for (size_t dim = 0; dim < rank; ++dim)
    if (auto axes = sharding.getDimAxes(static_cast<int64_t>(dim)); !axes.empty())
      parts.push_back("split over " + llvm::join(axes, ", ") +
                      (rank == 1 ? "" : " along dimension " + std::to_string(dim)));
  if (auto axes = sharding.getPartialAxes(); !axes.empty())
    parts.push_back("a " + stringifyReduceKind(sharding.getKind()).str() + " of its own on each rank of " +
                    llvm::join(axes, ", "));
  if (auto axes = sharding.getOwnerAxes(); !axes.empty())
    parts.push_back("only on the first rank of " + llvm::join(axes, ", "));
  return parts.empty() ? "whole on every rank" : llvm::join(parts, "; ");
}

// Says who needs a tensor that `first` takes: ", as it is stored"; ", first by node 'fc1' (Gemm)"; ", for the update of @w"
// if the tensor is "@w.grad"; or ", for @scalar.loss", a state into which it goes.
static std::string describeUser(Operation *first, StringRef tensor) {
  if (isa<WriteOp>(first))
    return ", as it is stored";
  tensor.consume_front("@");
  std::string text, other;
  visitUsers(first, [&](Operation *op) {
    if (auto write = dyn_cast<WriteOp>(op)) {
      if (tensor.starts_with((write.getState() + ".").str()))
        text = ", for the update of @" + write.getState().str();
      else if (other.empty())
        other = ", for @" + write.getState().str();
    } else if (std::string node = nodeNameOf(op->getLoc()); !node.empty() && !isForm(op)) {
      text = ", first by " + node;
    }
    return !text.empty();
  });
  return text.empty() ? other : text;
}

DictionaryAttr makeReason(MLIRContext *context, StringRef tensor, StringRef made, StringRef used) {
  Builder builder(context);
  return builder.getDictionaryAttr({builder.getNamedAttr("tensor", builder.getStringAttr(tensor)),
                                    builder.getNamedAttr("made", builder.getStringAttr(made)),
                                    builder.getNamedAttr("used", builder.getStringAttr(used))});
}

DictionaryAttr reasonOf(OpOperand &use, ShardingAttr made, ShardingAttr used) {
  std::string tensor = tensorNameOf(use.get());
  return makeReason(made.getContext(), tensor, describeSharding(made),
                    describeSharding(used) + describeUser(use.getOwner(), tensor));
}

DictionaryAttr joinReasons(ArrayRef<DictionaryAttr> reasons) {
  auto text = [&](StringRef key) { return reasons.front().getAs<StringAttr>(key).str(); };
  std::string more = reasons.size() == 1 ? "" : " and " + std::to_string(reasons.size() - 1) + " more";
  return makeReason(reasons.front().getContext(), text("tensor") + more, text("made"), text("used"));
}

} // namespace cleave

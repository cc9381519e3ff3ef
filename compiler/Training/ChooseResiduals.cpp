#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/JointFunction.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/ResidualChoice.h"
#include "compiler/Training/States.h"
#include "compiler/Training/UnitAnchors.h"
#include "dialects/Cleave/IR/BlockMarks.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_CHOOSERESIDUALS
#include "compiler/Training/Passes.h.inc"

namespace {

// Reductions to a quarter of the elements or fewer are cheap to keep, and cost a pass over their operand to repeat.
bool isShrinking(Operation *op) {
  int64_t read = 0, written = 0;
  for (Value operand : op->getOperands())
    read = std::max(read, tensorType(operand).getNumElements());
  for (Value result : op->getResults())
    written = std::max(written, tensorType(result).getNumElements());
  return op->getNumOperands() > 0 && !isa<SliceOp>(op) && 4 * written <= read;
}

// The backward pass has other kernels than the forward pass: what it computes again must have the same bits there.
bool isRecomputable(Operation *op) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  if (!compute || !compute.isReproducible())
    return false;
  return compute.getComputeKind() == ComputeKind::View || !isShrinking(op);
}

// The forward half as ResidualChoice wants it, with the values by index.
struct ForwardGraph {
  ResidualGraph graph;
  llvm::MapVector<Value, int> index;

  explicit ForwardGraph(const JointFunction &joint) : anchors(findUnitAnchors(joint)) {
    Block &block = joint.function.getBody().front();
    for (BlockArgument arg : block.getArguments())
      if (arg != joint.seed)
        add(arg, joint);
    for (Operation &op : block.without_terminator()) {
      if (joint.backward.contains(&op)) {
        for (Value operand : op.getOperands())
          if (auto found = index.find(operand); found != index.end())
            graph.values[found->second].needed = true;
        continue;
      }
      ResidualGraph::Op node;
      node.recomputable = isRecomputable(&op);
      for (Value operand : op.getOperands())
        node.operands.push_back(index.lookup(operand));
      for (Value result : op.getResults())
        node.results.push_back(add(result, joint));
      graph.ops.push_back(std::move(node));
    }
  }

private:
  int add(Value value, const JointFunction &joint) {
    int number = static_cast<int>(graph.values.size());
    index[value] = number;
    graph.values.push_back({byteSize(value.getType()), joint.isFree(value), false, anchors.contains(value)});
    return number;
  }

  llvm::DenseSet<Value> anchors;
};

void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

// @c0.fwd: the forward half, returning the residuals.
func::FuncOp buildForward(const JointFunction &joint, ArrayRef<Value> residuals) {
  OpBuilder builder(joint.function);
  IRMapping mapping;
  auto forward = cast<func::FuncOp>(builder.clone(*joint.function, mapping));
  forward.setName((joint.function.getSymName() + ".fwd").str());
  Block &block = forward.getBody().front();
  auto results = llvm::map_to_vector(residuals, [&](Value v) { return mapping.lookup(v); });
  block.getTerminator()->setOperands(results);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(joint.function.getBody().front())))
    if (joint.backward.contains(&op))
      mapping.lookup(&op)->erase();
  (void)forward.eraseArgument(joint.seed.getArgNumber());
  forward.setFunctionType(builder.getFunctionType(block.getArgumentTypes(), ValueRange(residuals).getTypes()));
  eraseDeadOps(block);
  return forward;
}

// @c0.bwd: residuals and inputs in, gradients into their states.
class BackwardBuilder {
public:
  BackwardBuilder(const JointFunction &joint, ArrayRef<Value> residuals)
      : joint(joint), residuals(residuals), builder(joint.function) {}

  void build(func::FuncOp forward) {
    Location loc = joint.function.getLoc();
    auto backward = func::FuncOp::create(builder, loc, (joint.function.getSymName() + ".bwd").str(),
                                         builder.getFunctionType({}, {}));
    block = backward.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    for (auto [i, value] : llvm::enumerate(residuals))
      addArgument(value,
                  builder.getDictionaryAttr(builder.getNamedAttr("cleave.residual", builder.getI64IntegerAttr(i))));
    mapping.map(joint.seed, Arithmetic(builder, loc).splat(tensorType(joint.seed), 1));
    for (Operation &op : joint.function.getBody().front().without_terminator())
      if (joint.backward.contains(&op))
        cloneWithOperands(&op);
    func::ReturnOp::create(builder, loc);
    backward.setFunctionType(builder.getFunctionType(block->getArgumentTypes(), {}));
    backward.setArgAttrsAttr(builder.getArrayAttr(attrs));
    setForward(backward, forward.getSymName());
  }

private:
  void addArgument(Value value, DictionaryAttr attributes) {
    mapping.map(value, block->addArgument(value.getType(), value.getLoc()));
    attrs.push_back(attributes);
  }

  // Clones the op behind all that it needs and that is not there yet: recomputed values stand right before their first
  // use, so that they live shortly. With a stack of its own, since recomputed chains may be long.
  void cloneWithOperands(Operation *root) {
    SmallVector<Operation *> stack = {root};
    while (!stack.empty()) {
      Operation *op = stack.back();
      bool ready = true;
      for (Value operand : op->getOperands()) {
        if (mapping.contains(operand))
          continue;
        if (auto arg = dyn_cast<BlockArgument>(operand)) {
          DictionaryAttr input = joint.function.getArgAttrDict(arg.getArgNumber());
          addArgument(arg, input ? input : builder.getDictionaryAttr({}));
          continue;
        }
        stack.push_back(operand.getDefiningOp());
        ready = false;
      }
      if (!ready)
        continue;
      stack.pop_back();
      bool done =
          op->getNumResults() > 0 && llvm::all_of(op->getResults(), [&](Value v) { return mapping.contains(v); });
      if (!done)
        cloneKeepingResiduals(op);
    }
  }

  // A recomputed op with several results must not replace one that was kept.
  void cloneKeepingResiduals(Operation *op) {
    Operation *copy = builder.clone(*op, mapping);
    for (auto [old, fresh] : llvm::zip_equal(op->getResults(), copy->getResults()))
      if (auto kept = llvm::find(residuals, old); kept != residuals.end())
        mapping.map(old, block->getArgument(kept - residuals.begin()));
      else
        mapping.map(old, fresh);
  }

  const JointFunction &joint;
  ArrayRef<Value> residuals;
  OpBuilder builder;
  Block *block = nullptr;
  IRMapping mapping;
  SmallVector<Attribute> attrs;
};

std::vector<int> neededValues(const ResidualGraph &graph) {
  std::vector<int> needed;
  for (size_t i = 0; i < graph.values.size(); ++i)
    if (graph.values[i].needed && !graph.values[i].free)
      needed.push_back(static_cast<int>(i));
  return needed;
}

class ChooseResidualsPass : public impl::ChooseResidualsBase<ChooseResidualsPass> {
public:
  using ChooseResidualsBase::ChooseResidualsBase;

private:
  void runOnOperation() override {
    func::FuncOp function = lookupFunction(getOperation(), "c0");
    JointFunction joint = function ? JointFunction(function) : JointFunction();
    if (!joint.seed) {
      getOperation().emitError("expected a function @c0 with a seed; differentiate makes it");
      return signalPassFailure();
    }
    ForwardGraph forward(joint);
    SmallVector<Value> residuals;
    for (int index : keepAll ? neededValues(forward.graph) : chooseResiduals(forward.graph))
      residuals.push_back(forward.index.getArrayRef()[index].first);
    func::FuncOp half = buildForward(joint, residuals);
    // The forward pass keeps the marks of its blocks, for recompute-blocks; what of it is in the backward pass has
    // none.
    for (Operation &op : function.getBody().front())
      setBlockMark(&op, std::nullopt);
    BackwardBuilder(joint, residuals).build(half);
    function.erase();
  }
};
} // namespace
} // namespace cleave

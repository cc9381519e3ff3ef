#include "compiler/Training/Passes.h"
#include "compiler/Training/Residuals/Blocks.h"
#include "compiler/Training/Residuals/JointFunction.h"
#include "compiler/Training/States.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/BlockMarks.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_FINDBLOCKS
#include "compiler/Training/Passes.h.inc"

namespace {

// The inputs and states that a forward value is computed from.
enum class Origin {
  Constant,  // constants, random numbers, states that are not parameters
  Input,     // inputs, perhaps with constants: a mask
  Weight,    // parameters, perhaps with constants: a transposed matrix, a repeated bias
  Activation // parameters and inputs
};

Origin join(Origin a, Origin b) {
  if (a == b || b == Origin::Constant)
    return a;
  return a == Origin::Constant ? b : Origin::Activation;
}

// The forward half, with the origin of each value. The *spine* is the activations that the loss or a result depends on:
// blocks are cut from their ops. The other ops (running statistics, masks, weights) join the blocks of their
// neighbours.
class Spine {
public:
  Spine(const SymbolTable &symbols, const JointFunction &joint) {
    for (Operation &op : joint.function.getBody().front()) {
      if (joint.backward.contains(&op))
        continue;
      ops.push_back(&op);
      Origin origin = originOf(symbols, op);
      for (Value result : op.getResults())
        origins[result] = origin;
    }
    findContributors(symbols);
  }

  ArrayRef<Operation *> forwardOps() const { return ops; }
  Origin originOf(Value value) const { return origins.lookup_or(value, Origin::Input); }
  bool contains(Operation *op) const { return contributors.contains(op) && isActivation(op); }

private:
  static bool isParameter(const SymbolTable &symbols, ReadOp read) {
    auto state = symbols.lookup<StateOp>(read.getState());
    return state && state.getRole() == Role::Parameter;
  }

  Origin originOf(const SymbolTable &symbols, Operation &op) const {
    if (auto read = dyn_cast<ReadOp>(op))
      return isParameter(symbols, read) ? Origin::Weight : Origin::Constant;
    Origin origin = Origin::Constant;
    for (Value operand : op.getOperands())
      origin = join(origin, originOf(operand));
    return origin;
  }

  bool isActivation(Operation *op) const {
    return op->getNumResults() > 0 && originOf(op->getResult(0)) == Origin::Activation;
  }

  // Finds the ops that the function's results and scalars (the loss's sum and count) are computed from.
  void findContributors(const SymbolTable &symbols) {
    for (Operation *op : llvm::reverse(ops)) {
      bool isRoot = op->hasTrait<OpTrait::IsTerminator>();
      if (auto write = dyn_cast<WriteOp>(op)) {
        auto state = symbols.lookup<StateOp>(write.getState());
        isRoot = state && state.getRole() == Role::Scalar;
      }
      if (!isRoot && !contributors.contains(op))
        continue;
      for (Value operand : op->getOperands())
        if (Operation *maker = operand.getDefiningOp())
          contributors.insert(maker);
    }
  }

  std::vector<Operation *> ops;
  llvm::DenseMap<Value, Origin> origins;
  llvm::DenseSet<Operation *> contributors;
};

// Returns the operand of a cast: the result has its elements in another type. Null for other ops.
Value castOperand(Operation *op) {
  auto shaped = [](Value value) { return cast<RankedTensorType>(value.getType()); };
  Value carried = carriedOperand(op);
  if (!carried || shaped(carried).getShape() != shaped(op->getResult(0)).getShape())
    return nullptr;
  return carried.getType() != op->getResult(0).getType() ? carried : Value();
}

// Numbers that are equal for ops that do the same on equal types. For an operand outside the spine, it counts how it is
// made, but not from which parameter or which random numbers.
class Labels {
public:
  explicit Labels(const Spine &spine) : spine(spine) {
    for (Operation *op : spine.forwardOps())
      if (!spine.contains(op) && op->getNumResults() > 0)
        outside[op] = isOpaque(op) ? 0 : castOperand(op) ? outside.lookup(castOperand(op).getDefiningOp()) : of(op);
  }

  uint64_t of(Operation *op) const {
    llvm::hash_code hash = ofOpAlone(op);
    llvm::hash_code operands(0);
    for (Value operand : op->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      llvm::hash_code one = llvm::hash_value(operand.getType().getAsOpaquePointer());
      if (maker && !spine.contains(maker))
        one = llvm::hash_combine(one, static_cast<int>(spine.originOf(operand)), outside.lookup(maker));
      // A commutative op may have its operands in any order.
      operands = op->hasTrait<OpTrait::IsCommutative>() ? llvm::hash_code(size_t(operands) + size_t(one))
                                                        : llvm::hash_combine(operands, one);
    }
    return llvm::hash_combine(hash, operands);
  }

private:
  static llvm::hash_code ofOpAlone(Operation *op) {
    llvm::hash_code hash = llvm::hash_value(op->getName().getAsOpaquePointer());
    for (Type type : op->getResultTypes())
      hash = llvm::hash_combine(hash, type.getAsOpaquePointer());
    for (NamedAttribute attribute : op->getAttrs())
      if (!attribute.getName().getValue().starts_with("cleave."))
        hash = llvm::hash_combine(hash, attribute.getName().getAsOpaquePointer(),
                                  attribute.getValue().getAsOpaquePointer());
    return hash;
  }

  // True for ops outside the spine that do not count in a label. Ops on weights count (which matrix is transposed), and
  // constants count by their value. Reads do not count, and neither do casts, because a frozen parameter is stored in
  // the model's type.
  bool isOpaque(Operation *op) const {
    return isa<ReadOp>(op) ||
           (spine.originOf(op->getResult(0)) != Origin::Weight && !op->hasTrait<OpTrait::ConstantLike>());
  }

  const Spine &spine;
  llvm::DenseMap<Operation *, uint64_t> outside;
};

// A product, convolution or look-up with weights.
bool isLayer(Operation *op, const Spine &spine) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  return compute && compute.getComputeKind() == ComputeKind::Kernel &&
         llvm::any_of(op->getOperands(), [&](Value v) { return spine.originOf(v) == Origin::Weight; });
}

class FindBlocksPass : public impl::FindBlocksBase<FindBlocksPass> {
public:
  using FindBlocksBase::FindBlocksBase;

private:
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (unsigned chunk : chunksOf(getOperation()))
      if (func::FuncOp joint = lookupFunction(getOperation(), chunkName(chunk)))
        functions.push_back(joint);
    for (StringRef name : {"model", "infer"})
      if (func::FuncOp function = functions.empty() ? lookupFunction(getOperation(), name) : func::FuncOp())
        functions.push_back(function);
    if (functions.empty()) {
      getOperation().emitError("expected a function @c0, @model or @infer");
      return signalPassFailure();
    }
    SymbolTable symbols(getOperation());
    blockOfState.clear();
    int64_t count = 0;
    for (func::FuncOp function : functions) {
      blockOf.clear();
      Spine spine(symbols, JointFunction(function));
      int64_t next = count + placeSpine(spine, count);
      placeSideBranches(spine);
      placeSources(spine);
      annotate(symbols, spine);
      count = next;
    }
    for (auto [state, block] : blockOfState)
      setBlock(state, block);
    getOperation()->setAttr(kBlocksAttr, Builder(&getContext()).getI64IntegerAttr(count));
  }

  // Numbers the blocks from `first` on, and returns their number. Blocks are the same in every precision: a cast is not
  // an op of the graph, but belongs to the value that it casts. So the rounded value leaves the block.
  int64_t placeSpine(const Spine &spine, int64_t first) {
    Labels labels(spine);
    BlockGraph graph;
    std::vector<Operation *> ops, casts;
    llvm::DenseMap<Value, int> numbers; // of the spine's values
    int valueCount = 0;
    for (Operation *op : spine.forwardOps()) {
      if (!spine.contains(op))
        continue;
      if (auto found = numbers.find(castOperand(op)); found != numbers.end()) {
        int same = found->second; // adding to the map moves its entries
        numbers[op->getResult(0)] = same;
        casts.push_back(op);
        continue;
      }
      BlockGraph::Op node;
      node.label = labels.of(op);
      node.isLayer = isLayer(op, spine);
      for (Value operand : op->getOperands())
        if (auto found = numbers.find(operand); found != numbers.end())
          node.operands.push_back(found->second);
      for (Value result : op->getResults()) {
        numbers.try_emplace(result, valueCount);
        node.results.push_back(valueCount++);
      }
      graph.ops.push_back(std::move(node));
      ops.push_back(op);
    }
    Blocks blocks = findBlocks(graph);
    for (auto [op, block] : llvm::zip_equal(ops, blocks.blockOf))
      blockOf[op] = block < 0 ? block : first + block;
    for (Operation *op : casts)
      blockOf[op] = blockOf.lookup(castOperand(op).getDefiningOp());
    return blocks.count;
  }

  // Ops on activations that no result depends on (running statistics) go into the latest block of their operands.
  void placeSideBranches(const Spine &spine) {
    for (Operation *op : spine.forwardOps()) {
      if (spine.contains(op) || op->hasTrait<OpTrait::IsTerminator>())
        continue;
      int64_t block = -1;
      bool isBehind = false;
      for (Value operand : op->getOperands())
        if (spine.originOf(operand) == Origin::Activation) {
          isBehind = true;
          block = std::max(block, blockOf.lookup_or(operand.getDefiningOp(), -1));
        }
      if (isBehind)
        blockOf[op] = block;
    }
  }

  // Ops without activations (weights, masks, random numbers) go into the block of their users, if all users are in one.
  void placeSources(const Spine &spine) {
    llvm::DenseSet<Operation *> forward(spine.forwardOps().begin(), spine.forwardOps().end());
    for (Operation *op : llvm::reverse(spine.forwardOps())) {
      if (blockOf.contains(op) || op->getNumResults() == 0)
        continue;
      std::optional<int64_t> block;
      for (Operation *user : op->getUsers())
        if (forward.contains(user)) {
          int64_t one = blockOf.lookup_or(user, -1);
          block = !block || *block == one ? one : -1;
        }
      blockOf[op] = block.value_or(-1);
    }
  }

  void annotate(const SymbolTable &symbols, const Spine &spine) {
    for (Operation *op : spine.forwardOps()) {
      int64_t block = blockOf.lookup_or(op, -1);
      setBlock(op, block);
      if (auto read = dyn_cast<ReadOp>(op))
        if (auto state = symbols.lookup<StateOp>(read.getState()); state && state.getRole() == Role::Parameter) {
          auto [known, isNew] = blockOfState.try_emplace(state, block);
          if (!isNew && known->second != block)
            known->second = -1;
        }
    }
  }

  static void setBlock(Operation *op, int64_t block) {
    setBlockMark(op, block >= 0 ? std::optional(block) : std::nullopt);
  }

  llvm::DenseMap<Operation *, int64_t> blockOf;
  llvm::MapVector<Operation *, int64_t> blockOfState; // -1: in several blocks
};

} // namespace
} // namespace cleave

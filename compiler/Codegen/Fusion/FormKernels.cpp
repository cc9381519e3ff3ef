#include "compiler/Codegen/Fusion/Grouping.h"
#include "compiler/Codegen/Fusion/Passes.h"
#include "compiler/Codegen/Fusion/SplitKernel.h"
#include "compiler/Codegen/Loops/KernelGraph.h"
#include "compiler/Codegen/Loops/LinalgForm.h"
#include "dialects/Cleave/IR/BlockMarks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

namespace cleave {
#define GEN_PASS_DEF_FORMKERNELS
#include "compiler/Codegen/Fusion/Passes.h.inc"
} // namespace cleave

using namespace mlir;
using namespace cleave;

// The most ops that a cheap producer may consist of. More are not worth computing again.
static constexpr size_t kMaxClonedOps = 12;

// Collects the values outside of a chain of cheap ops that the chain reads.
static void collectLeaves(Value value, const DenseSet<Operation *> &cheap, llvm::SetVector<Value> &leaves,
                          llvm::SetVector<Operation *> &ops) {
  Operation *op = value.getDefiningOp();
  if (!op || !cheap.contains(op)) {
    leaves.insert(value);
    return;
  }
  if (ops.insert(op))
    for (Value operand : op->getOperands())
      collectLeaves(operand, cheap, leaves, ops);
}

// Returns the cheap ops. An op is cheap if its clones have the same bits, and if the values that it reads (through
// other cheap ops) have at most half of the bytes of its result. Computing it again then costs less memory traffic than
// reading it. Constants are always cheap.
static DenseSet<Operation *> findCheapOps(Block &block) {
  DenseSet<Operation *> cheap;
  for (Operation &op : block) {
    if (!isFusible(&op) || op.getNumResults() != 1 || !cast<ComputeOpInterface>(op).isReproducible())
      continue;
    llvm::SetVector<Value> leaves;
    llvm::SetVector<Operation *> ops;
    for (Value operand : op.getOperands())
      collectLeaves(operand, cheap, leaves, ops);
    int64_t bytes = 0;
    for (Value leaf : leaves)
      bytes += byteSize(leaf.getType());
    bool isConstant = op.hasTrait<OpTrait::ConstantLike>();
    if (isConstant || (ops.size() < kMaxClonedOps && 2 * bytes <= byteSize(op.getResult(0).getType())))
      cheap.insert(&op);
  }
  return cheap;
}

// Gives every fusible reader of a cheap op its own copy. Readers are visited first, so that whole chains are copied.
static void cloneCheapOps(Block &block) {
  DenseSet<Operation *> cheap = findCheapOps(block);
  DenseSet<Operation *> fusible; // a set, because isFusible() looks at all operands of a concat
  for (Operation &op : block)
    if (isFusible(&op))
      fusible.insert(&op);
  SmallVector<Operation *> ops = llvm::map_to_vector(block, [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops)) {
    if (!cheap.contains(op))
      continue;
    llvm::SetVector<Operation *> readers;
    for (Operation *user : op->getUsers())
      if (fusible.contains(user))
        readers.insert(user);
    bool shared =
        readers.size() > 1 || llvm::any_of(op->getUsers(), [&](Operation *user) { return !fusible.contains(user); });
    if (!shared)
      continue;
    for (Operation *reader : readers) {
      OpBuilder builder(reader);
      Operation *clone = builder.clone(*op);
      clone->setLoc(reader->getLoc()); // an op may stand for those of many nodes; a copy belongs to its reader
      setBlockMark(clone, getBlockMark(reader)); // in another block, the copy would be stored
      fusible.insert(clone);
      reader->replaceUsesOfWith(op->getResult(0), clone->getResult(0));
    }
    if (op->use_empty())
      op->erase();
  }
}

// Merges equal ops inside a kernel (cheap producers that were cloned for two readers in one group). Calls `beforeFirst`
// before the first change.
static void mergeEqualOps(Block &body, llvm::function_ref<void()> beforeFirst) {
  bool changes = false;
  llvm::DenseMap<llvm::hash_code, SmallVector<Operation *>> seen;
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
    llvm::hash_code hash =
        OperationEquivalence::computeHash(&op, OperationEquivalence::directHashValue,
                                          OperationEquivalence::ignoreHashValue, OperationEquivalence::IgnoreLocations);
    SmallVector<Operation *> &candidates = seen[hash];
    Operation **equal = llvm::find_if(candidates, [&](Operation *other) {
      return OperationEquivalence::isEquivalentTo(&op, other, OperationEquivalence::exactValueMatch, nullptr,
                                                  OperationEquivalence::IgnoreLocations);
    });
    if (equal == candidates.end()) {
      candidates.push_back(&op);
      continue;
    }
    if (!changes)
      beforeFirst();
    changes = true;
    op.replaceAllUsesWith(*equal);
    op.erase();
  }
}

static KernelOp outline(const FusionGroup &group) {
  SmallVector<Value> inputs = groupInputs(group), outputs = groupOutputs(group);
  OpBuilder builder(group.insertionPoint);
  SmallVector<Type> types = llvm::map_to_vector(outputs, [](Value value) { return value.getType(); });
  SmallVector<Location> locations = llvm::map_to_vector(group.ops, [](Operation *op) { return op->getLoc(); });
  auto kernel = KernelOp::create(builder, FusedLoc::get(builder.getContext(), locations), types, inputs,
                                 /*label=*/nullptr, /*tied=*/nullptr);
  Block *body = builder.createBlock(&kernel.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
  setBlockMark(kernel, group.block);
  for (Operation *op : group.ops)
    setBlockMark(builder.clone(*op, mapping), std::nullopt);
  YieldOp::create(builder, kernel.getLoc(),
                  llvm::map_to_vector(outputs, [&](Value value) { return mapping.lookup(value); }));
  for (auto [output, result] : llvm::zip(outputs, kernel.getResults()))
    output.replaceAllUsesWith(result);
  return kernel;
}

static bool compiles(KernelOp kernel) {
  std::string why;
  return KernelGraph::tryBuild(kernel, why).has_value();
}

// Leaves only kernels that code generation can compile: the kernel with equal ops merged; if that fails, without the
// merge; if that fails too, one kernel for each op. A merge can fail because it relates dimensions that were
// independent, if the equal ops are read in different ways. An op that cannot be compiled alone is an error.
static LogicalResult settle(KernelOp kernel) {
  OwningOpRef<KernelOp> unmerged;
  mergeEqualOps(kernel.getBody().front(), [&] { unmerged = kernel.clone(); });
  if (compiles(kernel))
    return success();
  if (unmerged) {
    OpBuilder(kernel).insert(*unmerged);
    kernel->replaceAllUsesWith(*unmerged);
    kernel.erase();
    kernel = unmerged.release();
    if (compiles(kernel))
      return success();
  }
  for (KernelOp part : splitKernel(kernel)) {
    std::string why;
    if (!KernelGraph::tryBuild(part, why))
      return part.emitError("cannot be compiled: ") << why;
  }
  return success();
}

// True for a group of constants only. It gets no kernel, because only kernels and library calls read these constants.
static bool isConstantGroup(const FusionGroup &group) {
  return llvm::all_of(group.ops, [](Operation *op) { return op->hasTrait<OpTrait::ConstantLike>(); });
}

namespace {
struct FormKernels : cleave::impl::FormKernelsBase<FormKernels> {
  void getDependentDialects(DialectRegistry &registry) const override { addLinalgFormDialects(registry); }

  void runOnOperation() override {
    for (Block &block : getOperation().getBody()) {
      for (Operation &op : block)
        if (auto compute = dyn_cast<ComputeOpInterface>(op);
            compute && compute.getComputeKind() == ComputeKind::Composite) {
          op.emitError("form-kernels comes after decompose-composites; got: ") << op.getName();
          return signalPassFailure();
        }
      // Collected first, because the loop would meet a moved write again at the end.
      for (WriteOp write : llvm::to_vector(block.getOps<WriteOp>()))
        write->moveBefore(block.getTerminator());
      cloneCheapOps(block);
      std::vector<FusionGroup> groups = groupOps(block);
      llvm::erase_if(groups, isConstantGroup);
      SmallVector<KernelOp> kernels;
      for (const FusionGroup &group : groups)
        kernels.push_back(outline(group));
      for (const FusionGroup &group : llvm::reverse(groups))
        for (Operation *op : llvm::reverse(group.ops))
          op->erase();
      for (KernelOp kernel : kernels)
        if (failed(settle(kernel)))
          return signalPassFailure();
    }
  }
};
} // namespace

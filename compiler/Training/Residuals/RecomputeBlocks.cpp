// The pass recompute-blocks: chooses, on kernels form, the residuals that are kept and the forward kernels that run
// again.
#include "compiler/Training/Diagnose.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/Residuals/Recompute.h"
#include "compiler/Training/Residuals/Replay.h"
#include "compiler/Training/Residuals/ResidualChoice.h"
#include "compiler/Training/States.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/BlockMarks.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "llvm/ADT/MapVector.h"
#include "runtime/plan/ScalarNames.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_RECOMPUTEBLOCKS
#include "compiler/Training/Passes.h.inc"

namespace {

bool isView(Operation *op) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  return compute && compute.getComputeKind() == ComputeKind::View;
}

// The forward function as a graph of ResidualChoice. Kernels of chosen segments may run again. Values that leave a
// segment must not be computed again.
class KernelsGraph {
public:
  KernelsGraph(func::FuncOp forward, ArrayRef<int> segmentOfBlock)
      : segmentOfBlock(segmentOfBlock), forward(forward), freeValues(forward) {
    Block &body = forward.getBody().front();
    for (BlockArgument argument : body.getArguments())
      add(argument);
    for (Operation &op : body.without_terminator())
      add(&op);
    for (OpOperand &result : body.getTerminator()->getOpOperands())
      if (edgeOfResult(forward, result.getOperandNumber()).empty()) // results that leave the chunk are not residuals
        graph.values[index.lookup(result.get())].needed = true;
    markAnchors();
  }

  llvm::SetVector<Value> choose() const {
    llvm::SetVector<Value> kept;
    for (int number : chooseResiduals(graph))
      kept.insert(index.getArrayRef()[number].first);
    return kept;
  }

  const FreeValues &free() const { return freeValues; }

private:
  // A view without a mark belongs to the segment of its operand: a pass may have built it anew.
  int segmentOf(Operation *op) const {
    if (std::optional<int64_t> block = getBlockMark(op))
      return *block >= 0 && *block < static_cast<int64_t>(segmentOfBlock.size()) ? segmentOfBlock[*block] : -1;
    Operation *shown = isView(op) && op->getNumOperands() > 0 ? op->getOperand(0).getDefiningOp() : nullptr;
    return shown ? segments.lookup_or(shown, -1) : -1;
  }

  bool mayRepeat(Operation *op) const {
    bool isComputed = isa<KernelOp, ComputeOpInterface>(op);
    return isComputed && isMemoryEffectFree(op) && (isView(op) || segments.lookup(op) >= 0);
  }

  void add(Value value) {
    index.try_emplace(value, static_cast<int>(graph.values.size()));
    graph.values.push_back({byteSize(value.getType()), freeValues.contains(value), false, false});
  }

  void add(Operation *op) {
    segments[op] = segmentOf(op);
    ResidualGraph::Op node;
    node.recomputable = mayRepeat(op);
    for (Value operand : op->getOperands())
      node.operands.push_back(index.lookup(operand));
    for (Value result : op->getResults()) {
      add(result);
      node.results.push_back(index.lookup(result));
    }
    graph.ops.push_back(std::move(node));
  }

  void markAnchors() {
    for (Operation &op : forward.getBody().front().without_terminator()) {
      int segment = segments.lookup(&op);
      if (segment < 0)
        continue;
      for (Value result : op.getResults())
        for (Operation *user : result.getUsers())
          if (!isa<func::ReturnOp, WriteOp>(user) && segments.lookup(user) != segment)
            graph.values[index.lookup(result)].anchored = true;
    }
  }

  ArrayRef<int> segmentOfBlock;
  func::FuncOp forward;
  FreeValues freeValues;
  ResidualGraph graph;
  llvm::MapVector<Value, int> index;
  llvm::DenseMap<Operation *, int> segments;
};

class RecomputeBlocksPass : public impl::RecomputeBlocksBase<RecomputeBlocksPass> {
public:
  using RecomputeBlocksBase::RecomputeBlocksBase;

private:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto choice = orDiagnose(module, parseRecompute(recompute));
    if (failed(choice))
      return signalPassFailure();
    auto micro = orDiagnose(module, parseRecomputeWhen(when));
    if (failed(micro))
      return signalPassFailure();
    if (choice->kind == RecomputeKind::None || choice->kind == RecomputeKind::Never || *micro == RecomputeWhen::Never)
      return;
    auto count = module->getAttrOfType<IntegerAttr>(kBlocksAttr);
    if (failed(checkCount(*choice, count ? count.getInt() : 0)))
      return signalPassFailure();
    std::vector<int> segments = recomputedSegments(*choice, count.getInt());
    if (*micro == RecomputeWhen::ExceptLast && failed(keepLastMicroBatch()))
      return;
    for (unsigned chunk : chunksOf(module))
      for (StringRef variant : {"", ".first"}) {
        func::FuncOp forward = lookupFunction(module, chunkName(chunk) + ".fwd" + variant.str());
        SmallVector<func::FuncOp, 2> backward = backwardOf(chunk, variant);
        if (!forward || backward.empty())
          continue;
        keepLastBlock(forward, segments);
        KernelsGraph graph(forward, segments);
        if (failed(replayInBackward(forward, backward, graph.choose(), graph.free())))
          return signalPassFailure();
      }
  }

  // Returns the backward pass, or its two halves.
  SmallVector<func::FuncOp, 2> backwardOf(unsigned chunk, StringRef variant) {
    SmallVector<func::FuncOp, 2> functions;
    for (StringRef half : {".bwd", ".bwd_x", ".bwd_w"})
      if (func::FuncOp function = lookupFunction(getOperation(), chunkName(chunk) + half.str() + variant.str()))
        functions.push_back(function);
    return functions;
  }

  // Makes copies of the functions for the last micro-batch, which stay as they are. Fails, without an error, if the
  // step has only one micro-batch.
  LogicalResult keepLastMicroBatch() {
    auto count = getOperation()->getAttrOfType<IntegerAttr>(kMicroBatchesAttr);
    if (!count || count.getInt() < 2)
      return failure();
    int64_t instance = nextInstance(getOperation());
    for (unsigned chunk : chunksOf(getOperation())) {
      func::FuncOp forward = lookupFunction(getOperation(), chunkName(chunk) + ".fwd");
      SmallVector<func::FuncOp, 2> functions = backwardOf(chunk, "");
      if (!forward || functions.empty())
        continue;
      functions.insert(functions.begin(), forward);
      for (func::FuncOp function : functions) {
        auto last = cast<func::FuncOp>(OpBuilder(function).clone(*function));
        last.setName((function.getName() + ".last").str());
        if (isBackward(function))
          setForward(last, (forward.getName() + ".last").str());
        last.walk([&](Operation *op) {
          if (op->hasAttr(kInstanceAttr))
            op->setAttr(kInstanceAttr, OpBuilder(op).getI64IntegerAttr(instance++));
        });
      }
    }
    return success();
  }

  LogicalResult refuse(const Recompute &choice, const Twine &message) {
    return diagnose(getOperation(), usageError("--recompute " + printRecompute(choice), message));
  }

  LogicalResult checkCount(const Recompute &choice, int64_t blocks) {
    if (choice.kind == RecomputeKind::Auto)
      return getOperation().emitError("recompute-blocks: auto is a search over the other values; the driver does it");
    if (blocks == 0 && chunksOf(getOperation()).size() > 1)
      return refuse(choice, "no chunk of the pipeline has two layers, so there are no blocks to compute again; use "
                            "fewer stages or chunks, or leave out the option");
    if (blocks == 0)
      return refuse(choice, "the model has fewer than two layers, so there are no blocks to compute again; leave out "
                            "the option");
    if (choice.count > blocks)
      return refuse(choice, "the model has " + Twine(blocks) + " blocks; N may be from 1 to " + Twine(blocks));
    return success();
  }

  // Keeps the block that makes the loss. Its backward pass begins as soon as its forward pass ends, so recomputing it
  // would save nothing.
  static void keepLastBlock(func::FuncOp forward, std::vector<int> &segments) {
    for (WriteOp write : forward.getBody().front().getOps<WriteOp>()) {
      Operation *loss = write.getState() == rt::kLossSumScalar ? write.getValue().getDefiningOp() : nullptr;
      std::optional<int64_t> block = loss ? getBlockMark(loss) : std::nullopt;
      if (block && *block >= 0 && *block < static_cast<int64_t>(segments.size()))
        segments[*block] = -1;
    }
  }
};
} // namespace
} // namespace cleave

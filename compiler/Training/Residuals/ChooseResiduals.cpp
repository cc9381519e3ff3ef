#include "compiler/Training/Chunks/ChunkPorts.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/Residuals/SplitFunction.h"
#include "compiler/Training/States.h"
#include "dialects/Cleave/IR/BlockMarks.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_CHOOSERESIDUALS
#include "compiler/Training/Passes.h.inc"

namespace {

class ChooseResidualsPass : public impl::ChooseResidualsBase<ChooseResidualsPass> {
public:
  using ChooseResidualsBase::ChooseResidualsBase;

private:
  void runOnOperation() override {
    SmallVector<func::FuncOp> chunks;
    for (unsigned number : chunksOf(getOperation()))
      if (func::FuncOp chunk = lookupFunction(getOperation(), chunkName(number)))
        chunks.push_back(chunk);
    dropUnreadGradients(chunks);
    bool any = false;
    for (func::FuncOp chunk : chunks)
      any |= split(chunk);
    if (!any) {
      getOperation().emitError("expected a function @c0 with a seed; differentiate makes it");
      return signalPassFailure();
    }
  }

  // Drops gradients that the chunk of their value does not read. A user makes a gradient for each value that a parameter
  // changes. Only the chunk that made the value shows whether the gradient ends there (the value was rounded or
  // detached). Chunks are visited in ascending order, so the readers of a chunk's gradients come before it. Ops that the
  // chunk needs only for an unread gradient are erased before the next chunk is visited, which may make a gradient for
  // them.
  static void dropUnreadGradients(ArrayRef<func::FuncOp> chunks) {
    llvm::StringSet<> read;
    for (func::FuncOp chunk : chunks) {
      ChunkPorts ports(chunk);
      llvm::StringSet<> made;
      for (const ChunkPorts::Edge &edge : ports.inEdges())
        made.insert(edgeGradientName(edge.name, *chunkNumber(chunk.getName())));
      ports.dropEdges([&](StringRef edge) { return made.contains(edge) && !read.contains(edge); });
      ports.finish();
      eraseDeadOps(chunk.getBody().front());
      for (BlockArgument argument : llvm::reverse(chunk.getArguments()))
        if (!chunk.getArgAttr(argument.getArgNumber(), kCotangentAttr))
          continue;
        else if (argument.use_empty())
          (void)chunk.eraseArgument(argument.getArgNumber());
        else
          read.insert(edgeOfArgument(chunk, argument.getArgNumber()));
    }
  }

  // Splits a chunk into forward and backward pass. True if the chunk has a seed. Without trained parameters in it or
  // before it, it has none, and its backward pass is empty.
  bool split(func::FuncOp function) {
    JointFunction joint(function);
    std::string name = function.getSymName().str();
    SplitNames names{name + ".fwd", name + ".bwd", ""};
    SmallVector<Value> residuals = chooseKept(joint, keepAll);
    func::FuncOp forward = buildFirstHalf(joint, names, residuals);
    // The ops of the forward pass keep the marks of their blocks, for recompute-blocks. Those that are repeated in the
    // backward pass have none.
    for (Operation &op : function.getBody().front())
      setBlockMark(&op, std::nullopt);
    setForward(buildSecondHalf(joint, names, residuals, forward), forward.getSymName());
    function.erase();
    return !joint.seeds.empty();
  }
};
} // namespace
} // namespace cleave

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

  // A gradient crosses chunks if the chunk that made the value reads it. A user makes one for each value that a
  // parameter changes; only the maker shows that its way ends there (the value was rounded, or detached). In ascending
  // order: the readers of a chunk's gradients are visited before it. So what it needs for an unread one alone, perhaps
  // the gradient of a still later chunk, is erased before that chunk is asked.
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

  // Whether the chunk has a backward pass. One without trained parameters before or in it has an empty one.
  bool split(func::FuncOp function) {
    JointFunction joint(function);
    std::string name = function.getSymName().str();
    SplitNames names{name + ".fwd", name + ".bwd", ""};
    SmallVector<Value> residuals = chooseKept(joint, keepAll);
    func::FuncOp forward = buildFirstHalf(joint, names, residuals);
    // The forward pass keeps the marks of its blocks, for recompute-blocks; what of it is in the backward pass has
    // none.
    for (Operation &op : function.getBody().front())
      setBlockMark(&op, std::nullopt);
    setForward(buildSecondHalf(joint, names, residuals, forward), forward.getSymName());
    function.erase();
    return !joint.seeds.empty();
  }
};
} // namespace
} // namespace cleave

#include "compiler/Codegen/Loops/KernelGraph.h"

#include "compiler/Codegen/Loops/LinalgForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace cleave;

// Erases ops without users, last first, so that only the ops that the results need remain.
static void eraseUnused(func::FuncOp function) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (!op.hasTrait<OpTrait::IsTerminator>() && op.use_empty())
      op.erase();
}

LogicalResult KernelGraph::lowerBody(KernelOp kernel, std::string &why) {
  loadLinalgFormDialects(*kernel.getContext());
  OpBuilder builder(kernel.getContext());
  module = ModuleOp::create(kernel.getLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto type = builder.getFunctionType(kernel.getInputs().getTypes(), kernel.getResultTypes());
  function = func::FuncOp::create(builder, kernel.getLoc(), "kernel", type);
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);

  IRMapping mapping;
  Block &body = kernel.getBody().front();
  mapping.map(body.getArguments(), block->getArguments());
  for (Operation &op : body.without_terminator())
    if (failed(lowerToLinalg(builder, &op, mapping, why))) {
      why = (op.getName().getStringRef() + ": " + why).str();
      return failure();
    }
  SmallVector<Value> yielded;
  for (Value value : body.getTerminator()->getOperands())
    yielded.push_back(mapping.lookup(value));
  func::ReturnOp::create(builder, kernel.getLoc(), yielded);
  eraseUnused(function);
  return success();
}

FailureOr<KernelGraph> KernelGraph::build(KernelOp kernel) {
  std::string why;
  std::optional<KernelGraph> graph = tryBuild(kernel, why);
  if (!graph)
    return kernel.emitError(why);
  return std::move(*graph);
}

std::optional<KernelGraph> KernelGraph::tryBuild(KernelOp kernel, std::string &why) {
  KernelGraph graph;
  if (failed(graph.lowerBody(kernel, why)))
    return std::nullopt;
  SmallVector<Value> outputs(graph.getResults());
  for (Operation &op : graph.function.getBody().front().without_terminator())
    graph.nests.push_back(LoopNest::of(&op));
  // Pointers to `graph.nests` are taken after it is complete.
  SmallVector<const LoopNest *> nests;
  for (const LoopNest &nest : graph.nests)
    nests.push_back(&nest);
  std::optional<IterationSpace> space = IterationSpace::find(nests, outputs, &why);
  if (!space) {
    why = "the kernel's ops share no iteration space: " + why;
    return std::nullopt;
  }
  graph.space = std::move(*space);
  graph.ties.assign(kernel.getNumResults(), -1);
  if (auto tied = kernel.getTied())
    graph.ties.assign(tied->begin(), tied->end());
  graph.joinDims();
  return graph;
}

// True if some op uses its position in a loop over `dim` or over `dim + 1`.
bool KernelGraph::readsIndex(int dim) const {
  for (const LoopNest &nest : nests) {
    SmallVector<int> loops = space.loopsOf(nest.op);
    WalkResult result = nest.op->walk([&](linalg::IndexOp index) {
      int loop = loops[index.getDim()];
      return loop == dim || loop == dim + 1 ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return true;
  }
  return false;
}

static bool touches(ArrayRef<int> loops, int dim) {
  return llvm::is_contained(loops, dim) || llvm::is_contained(loops, dim + 1);
}

// True if `dim` and `dim + 1` occur in `loops` only as neighbours in this order.
static bool areNeighbours(ArrayRef<int> loops, int dim) {
  SmallVector<int> used;
  llvm::copy_if(loops, std::back_inserter(used), [](int loop) { return loop != IterationSpace::kUnit; });
  for (size_t i = 0; i < used.size(); ++i) {
    bool lonelyFirst = used[i] == dim && (i + 1 == used.size() || used[i + 1] != dim + 1);
    bool lonelySecond = used[i] == dim + 1 && (i == 0 || used[i - 1] != dim);
    if (lonelyFirst || lonelySecond)
      return false;
  }
  return true;
}

// True if all values of `nest` have the two dimensions as neighbours, indexed by the loops themselves.
static bool allowsJoin(const LoopNest &nest, const IterationSpace &space, int dim) {
  if (nest.maps.empty())
    return nest.op->getNumOperands() == 0 ||
           llvm::none_of(nest.values, [&](Value value) { return touches(space.dimsOf(value), dim); });
  for (auto [value, map] : llvm::zip(nest.values, nest.maps)) {
    SmallVector<int> loops = space.dimsOf(value);
    if (!areNeighbours(loops, dim))
      return false;
    for (auto [loop, expr] : llvm::zip(loops, map.getResults()))
      // Dimensions of the pair are indexed by their loops alone. Any other dimension may be read at a constant, but not
      // at an expression such as i + 1: its loops may be those of the pair.
      if (!isa<AffineDimExpr>(expr) && (loop == dim || loop == dim + 1 || !isa<AffineConstantExpr>(expr)))
        return false;
  }
  bool extracted = false;
  nest.op->walk([&](tensor::ExtractOp op) { extracted |= touches(space.dimsOf(op.getTensor()), dim); });
  return !extracted;
}

// Two loops i and j may become one loop i * size(j) + j if no op can tell the difference. Every value has both
// dimensions, next to each other in this order, or neither, and values are row-major. No op uses i or j as a number,
// and none reads such a value at a computed index. Both loops are reduced, or none. For example, a bias of [768] is
// added to [8, 16, 768]. The loops 8 and 16 join. The loops 16 and 768 do not, because the bias has only one of them.
bool KernelGraph::canJoin(int dim) const {
  ArrayRef<IterationSpace::Dim> all = space.getDims();
  if (all[dim].reduced != all[dim + 1].reduced || readsIndex(dim))
    return false;
  for (Value result : getResults())
    if (!areNeighbours(space.dimsOf(result), dim))
      return false;
  return llvm::all_of(nests, [&](const LoopNest &nest) { return allowsJoin(nest, space, dim); });
}

// Pairs are enough for longer runs: a value that has 0 and 1 as neighbours, and 1 and 2, has all three in a row. The
// loops 8, 16, 768 of the example above give the loops 128, 768. `joined` is {false, true, false}, and `newIndex` is
// {0, 0, 1}.
void KernelGraph::joinDims() {
  ArrayRef<IterationSpace::Dim> all = space.getDims();
  for (size_t dim = 0; dim < all.size(); ++dim) {
    joined.push_back(dim > 0 && canJoin(dim - 1));
    if (joined.back())
      dims.back().size *= all[dim].size;
    else
      dims.push_back(all[dim]);
    newIndex.push_back(dims.size() - 1);
  }
}

// A joined dimension has no leader of its own. In each value it follows its predecessor, and the first one of them
// leads.
SmallVector<unsigned> KernelGraph::leadersOf(Value value) const {
  SmallVector<unsigned> leaders;
  for (auto [position, dim] : llvm::enumerate(space.dimsOf(value)))
    if (dim != IterationSpace::kUnit && (dim == IterationSpace::kOther || !joined[dim]))
      leaders.push_back(position);
  return leaders;
}

SmallVector<int> KernelGraph::dimsOf(Value value) const {
  SmallVector<int> own = space.dimsOf(value), result;
  for (unsigned leader : leadersOf(value))
    result.push_back(own[leader] == IterationSpace::kOther ? own[leader] : newIndex[own[leader]]);
  return result;
}

SmallVector<int64_t> KernelGraph::shapeOf(Value value) const {
  SmallVector<int64_t> shape;
  SmallVector<int> loops = dimsOf(value);
  for (auto [leader, loop] : llvm::zip(leadersOf(value), loops))
    shape.push_back(loop == IterationSpace::kOther ? cast<RankedTensorType>(value.getType()).getDimSize(leader)
                                                   : dims[loop].size);
  return shape;
}

int KernelGraph::loopOf(Operation *op, unsigned position) const {
  int loop = space.loopsOf(op)[position];
  if (loop < 0)
    return loop;
  return joined[loop] ? IterationSpace::kUnit : newIndex[loop];
}

#include "compiler/Codegen/CUDA/ThreadForm.h"

#include "compiler/Codegen/Loops/ElementEmitter.h"
#include "compiler/Codegen/Loops/StagePlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace cleave;

namespace {
constexpr int64_t kBlock = 256, kLargestBlock = 1024;
// Threads of a block whose threads have sums of several columns, and the lanes that read a cache line of these columns.
constexpr int64_t kColumnBlock = 512, kColumnLanes = 8;
// Elements that a thread of a block of kBlock keeps in registers, and the most ops of a kernel whose terms are written
// out.
constexpr int64_t kKept = 32, kWrittenOps = 64;
// The most terms of a row that one warp takes. A block takes longer rows.
constexpr int64_t kWarpTerms = 1024;
// Column sums of fewer tiles would leave multiprocessors idle. Then half a warp of columns is used, which is still
// whole sectors of memory.
constexpr int64_t kManyTiles = 128;
// The number of blocks that is wanted if sums are split (two for each multiprocessor of a large device), and the terms
// that each thread should have left.
constexpr int64_t kWantedBlocks = 264, kSplitTerms = 4;
} // namespace

Operation *cleave::combinerOf(linalg::GenericOp reduction, unsigned number) {
  Value accumulator = reduction.getRegionOutputArgs()[number];
  Operation *op = reduction.getBody()->getTerminator()->getOperand(number).getDefiningOp();
  if (!op || op->getNumOperands() != 2 || op->getNumResults() != 1 || !op->getResult(0).hasOneUse() ||
      !accumulator.hasOneUse() || !llvm::is_contained(op->getOperands(), accumulator) ||
      !computeType(accumulator.getType()).isIntOrFloat() || !op->hasTrait<OpTrait::IsCommutative>())
    return nullptr;
  return arith::getNeutralElement(op) ? op : nullptr;
}

static bool canShare(const KernelGraph &graph) {
  for (const LoopNest &nest : graph.getNests()) {
    if (!graph.getSpace().isReduction(nest.op))
      continue;
    auto generic = dyn_cast<linalg::GenericOp>(nest.op);
    for (unsigned i = 0; i < nest.op->getNumResults(); ++i)
      if (!generic || !combinerOf(generic, i))
        return false;
  }
  return true;
}

// Returns how many elements of `value` make 16 bytes.
static int64_t elementsOfVector(Value value) {
  unsigned bits = std::max(8u, cast<RankedTensorType>(value.getType()).getElementTypeBitWidth());
  return std::min<int64_t>(ThreadForm::kMostColumns, 128 / bits);
}

// Returns the largest width that the values with the innermost loop allow.
static int64_t chooseWidth(const KernelGraph &graph) {
  int last = static_cast<int>(graph.getDims().size()) - 1;
  int64_t width = 1;
  auto consider = [&](Value value) {
    if (llvm::is_contained(graph.dimsOf(value), last))
      width = std::max(width, elementsOfVector(value));
  };
  llvm::for_each(graph.getInputs(), consider);
  llvm::for_each(graph.getResults(), consider);
  while (graph.getDims()[last].size % width != 0)
    width /= 2;
  return width;
}

// Returns the width for rows whose size is not a multiple of a vector, but which begin at a multiple of one in memory:
// all values that are read of them are cut out of longer rows, and nothing is written. 1 for other rows.
static int64_t chooseRaggedWidth(const KernelGraph &graph) {
  int last = static_cast<int>(graph.getDims().size()) - 1;
  auto isRow = [&](Value value) { return llvm::is_contained(graph.dimsOf(value), last); };
  if (llvm::any_of(graph.getInputs(), isRow) || llvm::any_of(graph.getResults(), isRow))
    return 1;
  int64_t width = 1;
  SmallVector<tensor::ExtractSliceOp> slices;
  for (const LoopNest &nest : graph.getNests())
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(nest.op); slice && isRow(slice.getResult()))
      slices.push_back(slice);
  for (tensor::ExtractSliceOp slice : slices)
    width = std::max(width, elementsOfVector(slice.getResult()));
  for (tensor::ExtractSliceOp slice : slices)
    if (!isa<BlockArgument>(slice.getSource()) || slice.getStaticStrides().back() != 1 ||
        slice.getStaticOffsets().back() % width != 0 || slice.getSourceType().getShape().back() % width != 0)
      return 1;
  return width;
}

// Returns the number of terms that each thread keeps; 0 if threads have different numbers of them, or too many.
static int64_t chooseKept(const ThreadForm &form, const KernelGraph &graph) {
  if (form.lanes != 1 || form.splits != 1 || form.tail != 0 || form.terms % form.sharers != 0)
    return 0;
  int64_t room = kKept * kBlock / std::max(kBlock, form.blockSize());
  bool fits = form.depth() <= room && graph.getNests().size() <= kWrittenOps;
  return fits ? form.terms / form.sharers : 0;
}

ThreadForm ThreadForm::choose(const KernelGraph &graph) {
  ThreadForm form;
  for (auto [dim, info] : llvm::enumerate(graph.getDims())) {
    (info.reduced ? form.reduced : form.outer).push_back(dim);
    (info.reduced ? form.terms : form.parallel) *= info.size;
  }
  form.innermost = static_cast<int>(graph.getDims().size()) - 1;
  bool isShared = !form.reduced.empty() && canShare(graph);
  bool reducesInnermost = isShared && graph.getDims().back().reduced;
  bool isOneStage = isShared && StagePlan::make(graph).stages.size() == 1;
  // A later stage would need the sums of all columns of a vector at once.
  if (form.innermost >= 0 && (form.reduced.empty() || reducesInnermost || isOneStage)) {
    form.width = chooseWidth(graph);
    (reducesInnermost ? form.terms : form.parallel) /= form.width;
  }
  if (reducesInnermost && form.width == 1 && form.reduced.size() == 1 && form.terms > kWarpTerms) {
    form.width = chooseRaggedWidth(graph);
    form.tail = form.terms % form.width;
    form.terms /= form.width;
  }
  if (!isShared) {
    form.lanes = form.reduced.empty() ? kBlock : 2 * kWarp;
  } else if (reducesInnermost && form.terms * form.width <= kWarpTerms) {
    form.sharers = kWarp;
    form.rows = kBlock / kWarp;
  } else {
    bool hasColumns = form.columns() > 1;
    form.lanes = reducesInnermost ? 1 : hasColumns ? kColumnLanes : form.parallel < kWarp * kManyTiles ? kWarp / 2 : kWarp;
    int64_t wanted = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(form.terms))) / 8 * form.lanes;
    form.sharers = std::clamp(wanted, kBlock, hasColumns ? kColumnBlock : kLargestBlock) / form.lanes;
    if (isOneStage) {
      int64_t most = std::min(form.sharers, form.terms / (form.sharers * kSplitTerms));
      form.splits = std::clamp<int64_t>(kWantedBlocks / form.tiles(), 1, std::max<int64_t>(1, most));
    }
  }
  if (isShared)
    form.kept = chooseKept(form, graph);
  return form;
}

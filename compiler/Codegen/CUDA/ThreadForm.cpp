#include "compiler/Codegen/CUDA/ThreadForm.h"

#include "compiler/Codegen/Loops/ElementEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace cleave;

namespace {
constexpr int64_t kBlock = 256, kLargestBlock = 1024;
// Terms of a row that one warp takes, rather than a block.
constexpr int64_t kWarpTerms = 1024;
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

ThreadForm ThreadForm::choose(const KernelGraph &graph) {
  ThreadForm form;
  for (auto [dim, info] : llvm::enumerate(graph.getDims())) {
    (info.reduced ? form.reduced : form.outer).push_back(dim);
    (info.reduced ? form.terms : form.parallel) *= info.size;
  }
  if (form.reduced.empty() || !canShare(graph)) {
    form.lanes = form.reduced.empty() ? kBlock : 2 * kWarp;
    return form;
  }
  bool isContiguous = graph.getDims().back().reduced;
  if (isContiguous && form.terms <= kWarpTerms) {
    form.sharers = kWarp;
    form.rows = kBlock / kWarp;
  } else {
    form.lanes = isContiguous ? 1 : kWarp;
    int64_t wanted = llvm::PowerOf2Ceil(static_cast<uint64_t>(form.terms)) / 8 * form.lanes;
    form.sharers = std::clamp(wanted, kBlock, kLargestBlock) / form.lanes;
  }
  return form;
}

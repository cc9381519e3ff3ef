#include "compiler/Codegen/Host/LoopForm.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cleave;

namespace {
// The length of a flat elementwise tile: so long that the loop around it costs nothing, and short enough to balance
// threads.
constexpr int64_t kFlatTile = 4096;
// Columns that one thread sums at a time: eight cache lines of f32, whose accumulators stay in the first-level cache.
constexpr int64_t kColumnBlock = 128;
// The sides of a tile of a transpose.
constexpr int64_t kTurnedTile = 16, kTurnedLength = 64;
// Terms of a sum's chain: in a vectorized loop, whose lanes share them; in a short loop; in a column's accumulator.
constexpr int64_t kVectorChain = 4096, kShortChain = 256, kColumnChain = 128;
} // namespace

// Returns the parallel loop, other than `last`, along which most elements of the kernel's inputs are contiguous, or -1.
static int findTurned(const KernelGraph &graph, int last) {
  llvm::SmallVector<int64_t> elements(graph.getDims().size(), 0);
  for (Value input : graph.getInputs()) {
    SmallVector<int> dims = graph.dimsOf(input);
    if (!dims.empty() && dims.back() >= 0 && llvm::is_contained(dims, last))
      elements[dims.back()] += cast<RankedTensorType>(input.getType()).getNumElements();
  }
  int best = -1;
  for (size_t dim = 0; dim < elements.size(); ++dim)
    if (int(dim) != last && elements[dim] > 0 && (best < 0 || elements[dim] > elements[best]))
      best = dim;
  return best;
}

static LoopForm::Tile chooseChain(const LoopForm &form, ArrayRef<IterationSpace::Dim> dims) {
  if (form.reduced.empty())
    return {};
  int64_t innermost = dims[form.reduced.back()].size, longest = form.tile ? kColumnChain : kShortChain, inside = 1;
  bool vectorized = !form.tile && innermost >= kShortChain;
  if (vectorized) // a chain for each run of the loop: terms after its last whole vector are added one by one
    longest = std::min(innermost, kVectorChain);
  for (int dim : llvm::reverse(form.reduced)) {
    int64_t size = dims[dim].size;
    if (inside * size > longest) {
      int64_t length = std::max<int64_t>(longest / inside, 1), count = llvm::divideCeil(size, length);
      length = llvm::divideCeil(size, count);
      if (vectorized && inside == 1)
        length = llvm::alignTo(length, 64);
      return {dim, size, length};
    }
    inside *= size;
  }
  return {};
}

LoopForm LoopForm::choose(const KernelGraph &graph) {
  LoopForm form;
  ArrayRef<IterationSpace::Dim> dims = graph.getDims();
  for (auto [dim, info] : llvm::enumerate(dims))
    (info.reduced ? form.reduced : form.outer).push_back(dim);
  if (!dims.empty() && !dims.back().reduced) {
    int last = form.outer.pop_back_val();
    int64_t length = form.reduced.empty() ? kFlatTile : kColumnBlock;
    if (form.reduced.empty())
      if (int turned = findTurned(graph, last); turned >= 0) {
        llvm::erase(form.outer, turned);
        form.turned = {turned, dims[turned].size, std::min(dims[turned].size, kTurnedTile)};
        length = kTurnedLength;
      }
    form.tile = {last, dims[last].size, std::min(dims[last].size, length)};
  }
  form.chain = chooseChain(form, dims);
  for (int dim : form.outer)
    form.extent *= dims[dim].size;
  if (form.tile)
    form.extent *= form.tile.count();
  if (form.turned)
    form.extent *= form.turned.count();
  return form;
}

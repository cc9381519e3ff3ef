// The loops of a kernel, chosen from its iteration space.
//
//   extent   one flat loop over `outer` x tiles; threads split this loop
//   tile     the last parallel loop, cut into tiles, if it is the innermost of the space (contiguous in memory): the
//            vectorized loop of elementwise kernels, and of reductions over leading dimensions
//   turned   a second tiled loop, if some input is contiguous along it instead (transposes): tiles of both keep
//            the touched cache lines of either side in the first-level cache
//   reduced  the reduced loops, outermost first; the innermost is vectorized if it is the innermost of the space
//
//   gelu(x + b)   [8192, 3072]  outer {0} tile 1 (one tile of 3072)        extent 8192
//   softmax       [8192, 768*]  outer {0} reduced {1}                       extent 8192
//   bias gradient [8192*, 768]  tile 1 (6 tiles of 128) reduced {0}       extent 6
//   batch norm    [2, 32*, 64, 784*]  outer {0, 2} reduced {1, 3}           extent 128
//   sum of all    [8192*]       reduced {0}                                 extent 1: one thread, vectorized
//
// Sums in f32 are made of chains, whose totals are added in f64. So a million additions have the error of a few
// hundred. `chain` is a tile of one reduced loop. With the loops inside it, it adds at most as many terms as a chain
// may have. There is none if all terms fit in one chain.
//
//   sum of all    [1000000*]         chains of 4096 (64 in each lane of the vectorized loop)
//   bias gradient [8192*, 768]       chains of 128
//   batch norm    [2, 32*, 64, 784*] chains of 784
#ifndef CLEAVE_COMPILER_CODEGEN_HOST_LOOPFORM_H
#define CLEAVE_COMPILER_CODEGEN_HOST_LOOPFORM_H

#include "compiler/Codegen/Loops/KernelGraph.h"

namespace cleave {

struct LoopForm {
  struct Tile {
    int dim = -1;
    int64_t size = 0, length = 0; // of the loop; of one tile
    explicit operator bool() const { return dim >= 0; }
    int64_t count() const { return (size + length - 1) / length; }
  };
  llvm::SmallVector<int> outer, reduced;
  Tile tile, turned;
  Tile chain; // of a reduced loop
  int64_t extent = 1;

  // True if accumulators are arrays along the tile (reductions over leading dimensions).
  bool accumulatesInTile() const { return tile && !reduced.empty(); }
  static LoopForm choose(const KernelGraph &graph);
};

} // namespace cleave

#endif

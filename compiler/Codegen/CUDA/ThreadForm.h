// How the threads of a GPU walk a kernel's iteration space.
//
// The parallel loops are one flat index p < parallel, the reduced ones one flat index r < terms. A block has
// lanes x sharers x rows threads:
//
//   lanes    neighbouring threads have neighbouring p: their accesses are one
//   sharers  threads that share the terms of a p: thread y takes r = y, y + sharers, ..., then their sums are combined
//   rows     independent parts of a block, of one warp each
//
// A tile is the work of a block at a time: lanes x rows values of p. A block does tiles blockIdx, blockIdx + gridDim, ...
//
//   gelu(x + b)    [8192, 3072]  lanes 256                         98304 tiles
//   softmax        [8192, 768*]  sharers 32 rows 8 (a warp a row)  1024 tiles
//   softmax        [64, 50257*]  sharers 512                       64 tiles
//   bias gradient  [8192*, 768]  lanes 32 sharers 32               24 tiles
//   sum of all     [1000000*]    sharers 1024                      1 tile
//
// A reduction whose body is not `accumulator op term`, with an op that has a neutral element, cannot be shared: then one
// thread takes all terms.
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_THREADFORM_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_THREADFORM_H

#include "compiler/Codegen/Loops/KernelGraph.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace cleave {

struct ThreadForm {
  static constexpr int64_t kWarp = 32;
  llvm::SmallVector<int> outer, reduced; // loops, outermost first
  int64_t parallel = 1, terms = 1;
  int64_t lanes = 1, sharers = 1, rows = 1;

  int64_t blockSize() const { return lanes * sharers * rows; }
  int64_t tiles() const { return (parallel + lanes * rows - 1) / (lanes * rows); }
  // Whether combining needs other warps, and so all threads of the block: none of them may leave early.
  bool meetsInBlock() const { return sharers > 1 && !(lanes == 1 && sharers == kWarp); }
  // Whether some threads of the last tile have no p of their own.
  bool isRagged() const { return parallel % (lanes * rows) != 0; }

  static ThreadForm choose(const KernelGraph &graph);
};

// The op that adds a term to accumulator `number` of a reduction, where it is known to be one with a neutral element
// that no other value of the body depends on; null otherwise.
mlir::Operation *combinerOf(mlir::linalg::GenericOp reduction, unsigned number);

} // namespace cleave

#endif

// How the threads of a GPU walk a kernel's iteration space.
//
// The parallel loops are one flat index p < parallel, the reduced ones one flat index r < terms. A block has lanes x
// sharers x rows threads:
//
//   lanes    neighbouring threads have neighbouring p: their accesses are coalesced
//   sharers  threads that share the terms of a p: thread y takes r = y, y + sharers, ..., then their sums are combined
//   rows     independent parts of a block, of one warp each
//
// A tile is the work of a block at one time: lanes x rows values of p. A block does tiles blockIdx, blockIdx + gridDim,
// ... If there are too few tiles for the device, `splits` blocks share the terms of each tile. The last of these blocks
// adds the partial sums that the others left in the device's memory, in their order. So a kernel is split only if none
// of its other results waits for a sum.
//
// `width` neighbouring indices of the innermost loop are one vector: a thread takes them together, in one access of 16
// bytes if memory is aligned. Then p or r counts vectors. `tail` elements may be left after the last vector of a row
// whose terms are reduced: rows of 50257 that are cut out of rows of 50264.
//
//   gelu(x + b)    [8192, 3072]  width 4, lanes 256                         24576 tiles
//   softmax        [8192, 768*]  width 4, sharers 32 rows 8 (a warp a row)  1024 tiles
//   softmax        [64, 50257*]  sharers 1024                               64 tiles
//     of [64, 50264] width 8, tail 1, sharers 1024                          64 tiles
//   bias gradient  [8192*, 768]  width 8, lanes 8 sharers 64 splits 22      12 tiles
//   sum of all     [4000000*]    width 4, sharers 1024 splits 244           1 tile
//
// The terms of a reduction can be shared only if its body is `accumulator op term`, with an op that has a neutral
// element. Otherwise one thread takes all terms.
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_THREADFORM_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_THREADFORM_H

#include "compiler/Codegen/Loops/KernelGraph.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace cleave {

struct ThreadForm {
  static constexpr int64_t kWarp = 32;
  static constexpr int64_t kMostColumns = 8; // of one vector
  llvm::SmallVector<int> outer, reduced; // loops, outermost first
  int64_t parallel = 1, terms = 1; // in vectors, if the innermost loop belongs to them
  int64_t width = 1, tail = 0;
  int64_t lanes = 1, sharers = 1, rows = 1, splits = 1;
  int64_t kept = 0; // terms of a thread in registers; 0: a loop over terms in each stage

  int64_t blockSize() const { return lanes * sharers * rows; }
  // At least one, even if there is nothing to compute.
  int64_t tiles() const { return std::max<int64_t>(1, (parallel + lanes * rows - 1) / (lanes * rows)); }
  // Returns the number of pieces of work that blocks take.
  int64_t pieces() const { return tiles() * splits; }
  bool isWide(int dim) const { return width > 1 && dim == innermost; }
  // Returns the number of columns of which a thread has sums.
  int64_t columns() const { return !reduced.empty() && llvm::is_contained(outer, innermost) ? width : 1; }
  // Returns the number of terms of one thread for one sum.
  int64_t depth() const {
    int64_t threads = sharers * splits;
    return (terms + threads - 1) / threads * (reduced.empty() || columns() > 1 ? 1 : width);
  }
  // True if combining sums needs other warps, and so all threads of the block: then none of them may leave early.
  bool meetsInBlock() const { return sharers > 1 && !(lanes == 1 && sharers == kWarp); }
  // True if some threads of the last tile have no p of their own.
  bool isRagged() const { return parallel % (lanes * rows) != 0; }

  static ThreadForm choose(const KernelGraph &graph);

private:
  int innermost = -1;
};

// Returns the op that adds a term to accumulator `number` of a reduction, if it has a neutral element, and no other
// value of the body depends on the accumulator; null otherwise.
mlir::Operation *combinerOf(mlir::linalg::GenericOp reduction, unsigned number);

} // namespace cleave

#endif

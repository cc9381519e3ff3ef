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
// Where tiles are too few for the device, `splits` blocks share the terms of each; the last of them to come adds up what
// the others left in the device's memory, in their order. So only kernels whose other results wait for no sum are split.
//
// `width` neighbouring indices of the innermost loop are one: a thread takes them together, which makes one access of 16
// bytes out of them where memory is aligned. p or r counts these vectors then. `tail` elements may be left after the last
// vector of a row whose terms are reduced: rows of 50257 that are cut out of rows of 50264.
//
//   gelu(x + b)    [8192, 3072]  width 4, lanes 256                         24576 tiles
//   softmax        [8192, 768*]  width 4, sharers 32 rows 8 (a warp a row)  1024 tiles
//   softmax        [64, 50257*]  sharers 1024                               64 tiles
//     of [64, 50264] width 8, tail 1, sharers 1024                          64 tiles
//   bias gradient  [8192*, 768]  width 8, lanes 8 sharers 64 splits 22      12 tiles
//   sum of all     [4000000*]    width 4, sharers 1024 splits 122           1 tile
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
  static constexpr int64_t kMostColumns = 8; // of a vector
  llvm::SmallVector<int> outer, reduced; // loops, outermost first
  int64_t parallel = 1, terms = 1; // in vectors, where the innermost loop is theirs
  int64_t width = 1, tail = 0;
  int64_t lanes = 1, sharers = 1, rows = 1, splits = 1;
  int64_t kept = 0; // 0: a loop over terms in each stage

  int64_t blockSize() const { return lanes * sharers * rows; }
  // At least one, where there is nothing to compute, too.
  int64_t tiles() const { return std::max<int64_t>(1, (parallel + lanes * rows - 1) / (lanes * rows)); }
  // The pieces of work that blocks take.
  int64_t pieces() const { return tiles() * splits; }
  bool isWide(int dim) const { return width > 1 && dim == innermost; }
  // Columns that a thread has sums of.
  int64_t columns() const { return !reduced.empty() && llvm::is_contained(outer, innermost) ? width : 1; }
  // Terms of one thread for one sum.
  int64_t depth() const {
    int64_t threads = sharers * splits;
    return (terms + threads - 1) / threads * (reduced.empty() || columns() > 1 ? 1 : width);
  }
  // Whether combining needs other warps, and so all threads of the block: none of them may leave early.
  bool meetsInBlock() const { return sharers > 1 && !(lanes == 1 && sharers == kWarp); }
  // Whether some threads of the last tile have no p of their own.
  bool isRagged() const { return parallel % (lanes * rows) != 0; }

  static ThreadForm choose(const KernelGraph &graph);

private:
  int innermost = -1;
};

// The op that adds a term to accumulator `number` of a reduction, where it is known to be one with a neutral element
// that no other value of the body depends on; null otherwise.
mlir::Operation *combinerOf(mlir::linalg::GenericOp reduction, unsigned number);

} // namespace cleave

#endif

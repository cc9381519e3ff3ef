// Numbers of whole tensors, where a bucket has several: norms that an optimizer takes of each parameter.
//
// A bucket of N elements is B blocks of `block` elements, and no block has elements of two tensors, since tensors begin
// on multiples of 128 bytes. So a sum over each of n tensors is two sums: one over the elements of each block, and one
// over the blocks of each tensor, which are a table of n x B.
//
//   bucket, block = 4     a a a a | a a . . | b b b b       n = 2, B = 3
//   squares by block      s0        s1        s2            elements past a tensor's end (.) do not count
//   tensor a has blocks   1         1         0             -> s0 + s1
//   tensor b              0         0         1             -> s2
//
// The code is as long for a hundred tensors as for one. Where ranks have parts of the bucket, each has some of the blocks:
// the sums are terms, and one all-reduce of n numbers makes them whole (compiler/Sharding), as for the gradient's norm.
//
// x is reshaped before anything is computed, so that one loop reads it and makes the sums: a reshape of what is computed
// would be a tensor in memory.
//
// Rejected: a slice of each tensor. Slices of what is split over ranks would gather it.
#ifndef CLEAVE_COMPILER_TRAINING_OPTIMIZERS_TENSORRANGES_H
#define CLEAVE_COMPILER_TRAINING_OPTIMIZERS_TENSORRANGES_H

#include "compiler/Training/Arithmetic.h"

namespace cleave {

class TensorRanges {
public:
  // Tensors in ascending order, none of them empty.
  void append(int64_t offset, int64_t elements) { ranges.push_back({offset, elements}); }

  // The sum of the squares of each tensor's elements of x, which has the bucket's shape: a vector of f64, one number for each
  // tensor. (The square of an f32 element may be infinite in f32.)
  mlir::Value sumsOfSquares(Arithmetic &a, mlir::Value x) const;
  // x, each element times the number of its tensor, and times 0 between tensors.
  mlir::Value scale(Arithmetic &a, mlir::Value x, mlir::Value numbers) const;

private:
  struct Range {
    int64_t offset, elements;
  };
  // Whether the tensors are the bucket: then there is one, which may have any shape.
  bool isOne(llvm::ArrayRef<int64_t> shape) const;
  int64_t blockSize(int64_t elements) const;
  // n x B: whether a block is the tensor's.
  mlir::Value membership(Arithmetic &a, int64_t blocks, int64_t block) const;
  // x with 0 past the tensors' ends.
  mlir::Value withoutPadding(Arithmetic &a, mlir::Value x) const;

  llvm::SmallVector<Range> ranges;
};

} // namespace cleave

#endif

// Numbers of whole tensors in a bucket that has several: norms that an optimizer needs of each parameter.
//
// A bucket of N elements is B blocks of `block` elements. No block has elements of two tensors, because tensors begin
// at multiples of 128 bytes. So the sum over each of n tensors is two sums. The first is over the elements of each
// block. The second is over the blocks of each tensor, by a table of n x B.
//
//   bucket, block = 4     a a a a | a a . . | b b b b       n = 2, B = 3
//   squares by block      s0        s1        s2            elements past a tensor's end (.) do not count
//   tensor a has blocks   1         1         0             -> s0 + s1
//   tensor b              0         0         1             -> s2
//
// The code is as long for a hundred tensors as for one. If ranks have parts of the bucket, each rank has some of the
// blocks. Its sums are then terms, and one all-reduce of n numbers adds them (compiler/Sharding), as for the gradient's
// norm.
//
// x is reshaped before anything is computed, so that one loop reads it and makes the sums. A reshape of a computed
// value would be a tensor in memory.
//
// Rejected: a slice of each tensor. A slice of a tensor that is sharded over ranks would gather it.
#ifndef CLEAVE_COMPILER_TRAINING_OPTIMIZERS_TENSORRANGES_H
#define CLEAVE_COMPILER_TRAINING_OPTIMIZERS_TENSORRANGES_H

#include "compiler/Training/Arithmetic.h"

namespace cleave {

class TensorRanges {
public:
  // Tensors are appended in ascending order. None may be empty.
  void append(int64_t offset, int64_t elements) { ranges.push_back({offset, elements}); }

  // Returns the sum of the squares of each tensor's elements of x, as a vector of f64. x has the bucket's shape. (The
  // square of an f32 element may be infinite in f32.)
  mlir::Value sumsOfSquares(Arithmetic &a, mlir::Value x) const;
  // Returns x with each element multiplied by the number of its tensor. Elements between tensors are multiplied by 0.
  mlir::Value scale(Arithmetic &a, mlir::Value x, mlir::Value numbers) const;

private:
  struct Range {
    int64_t offset, elements;
  };
  // True if there is one tensor, which is the whole bucket. It may have any shape.
  bool isOne(llvm::ArrayRef<int64_t> shape) const;
  int64_t blockSize(int64_t elements) const;
  // n x B: true if the block belongs to the tensor.
  mlir::Value membership(Arithmetic &a, int64_t blocks, int64_t block) const;
  // Returns x with 0 after the end of each tensor.
  mlir::Value withoutPadding(Arithmetic &a, mlir::Value x) const;

  llvm::SmallVector<Range> ranges;
};

} // namespace cleave

#endif

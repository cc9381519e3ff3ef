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
// Rejected: a slice of each tensor. Slices of what is split over ranks would gather it.
#ifndef CLEAVE_COMPILER_TRAINING_OPTIMIZERS_TENSORRANGES_H
#define CLEAVE_COMPILER_TRAINING_OPTIMIZERS_TENSORRANGES_H

#include "compiler/Training/Arithmetic.h"

namespace cleave {

class TensorRanges {
public:
  // Tensors in ascending order, none of them empty.
  void append(int64_t offset, int64_t elements) { ranges.push_back({offset, elements}); }

  // The sum over each tensor's elements of x, which has the bucket's shape: a vector, one number for each tensor.
  mlir::Value sums(Arithmetic &a, mlir::Value x) const;
  // A tensor of that shape: for each element the number of its tensor, 0 between tensors.
  mlir::Value spread(Arithmetic &a, mlir::Value numbers, llvm::ArrayRef<int64_t> shape) const;

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

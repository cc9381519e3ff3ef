// A product as the primitives of oneDNN that compute it, and how each of them wants the right operand.
//
//   PartedMatmul matmul(plainest(shape));
//   for (const DnnlMatmul &part : matmul.parts)   // c = a[:, first] * b[first, :], then c += a[:, next] * b[next, :]
//     part.desc ...
//
// The right operand is multiplied as it is stored, or from the library's own blocks:
//
//   packed before   its buffer holds the blocks of all parts, one after the other (parameter packed_b, kernel
//                   matmul_pack_b)
//   packed here     its buffer holds the plain matrix; each part's blocks are made in scratch before it is computed,
//                   where that takes less time than they save, or where a part would be copied anyway
//
// Blocks change where numbers lie, not the order in which they are added: the two forms give the same bits.
#ifndef CLEAVE_KERNELS_MATMUL_HOST_PARTEDMATMUL_H
#define CLEAVE_KERNELS_MATMUL_HOST_PARTEDMATMUL_H

#include "kernels/common/host/Dnnl.h"
#include "kernels/matmul/host/Matmul.h"

#include <optional>

namespace cleave::rt {

// The same product with the plainest parameters.
// - A row or a column lies the same way transposed or not. The library (2.6.3) takes such descriptors as equal and gives
//   the primitive that it made for either, whose scratch can be another: a shape must have one descriptor.
// - A shared right operand makes one tall multiplication: many rows use the machine better than many batches.
MatmulShape plainest(MatmulShape shape);

// How the right operand of a primitive lies.
enum class FormOfB {
  Stored,  // as the parameters say
  Rows,    // [k, n], whatever the parameters say
  Blocked, // as the library wants each part: on AVX-512, blocks of 16 x 64 numbers
};

// Sums the products of `length` values of k, to what is there already where it is added, and to the bias where it is
// not: then it begins the sum.
struct DnnlMatmul {
  DnnlMatmul(const MatmulShape &shape, FormOfB form, int64_t length, bool isAdded);

  size_t packedBytes() const { return desc.weights_desc().get_size(); }
  // Computed by the library's kernel for AVX-512, which reads plain matrices and blocks.
  bool isBlockedKernel() const;

  bool isSingle;
  dnnl::memory::desc a, stored, c; // `stored`: b before it is packed
  std::optional<dnnl::memory::desc> bias;
  dnnl::primitive_attr attributes = DnnlBuilder::attributes();
  dnnl::matmul::primitive_desc desc;

private:
  dnnl::memory::desc matrices(int64_t batch, int64_t rows, int64_t columns, dnnl::memory::dims strides,
                              fb::DType dtype) const;
  dnnl::matmul::primitive_desc describe(const dnnl::memory::desc &left, const dnnl::memory::desc &right) const;
  bool packsByItself(const MatmulShape &shape, bool isTransposedB) const;
};

struct PartedMatmul {
  explicit PartedMatmul(const MatmulShape &shape);

  size_t bytesOfB() const; // of the buffer
  // Where a part's products begin in the operands as they are stored.
  size_t skipA(size_t part) const { return beginOf(part) * (shape.transposeA ? shape.m : 1) * dtypeSize(shape.dtype); }
  size_t skipB(size_t part) const { return beginOf(part) * (shape.transposeB ? 1 : shape.n) * dtypeSize(shape.dtype); }

  MatmulShape shape;
  FormOfB form;
  std::vector<DnnlMatmul> parts;

private:
  void describeParts(FormOfB wanted);
  bool areBlockedKernels() const;
  bool copiesB() const; // before it is multiplied: the library takes a part of [n, k] only as a matrix of its own
  size_t beginOf(size_t part) const;
};

} // namespace cleave::rt

#endif

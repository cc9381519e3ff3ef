// A product as a list of primitives of oneDNN, and the format of the right operand for each of them.
//
//   PartedMatmul matmul(plainest(shape));
//   for (const DnnlMatmul &part : matmul.parts)   // c = a[:, first] * b[first, :], then c += a[:, next] * b[next, :]
//     part.desc ...
//
// The right operand is multiplied from its stored format, or from the library's own blocks:
//
//   packed before   its buffer has the blocks of all parts, one after the other (parameter packed_b, kernel
//                   matmul_pack_b)
//   packed here     its buffer has the plain matrix. The blocks of each part are made in scratch before the part is
//                   computed. This is done if it takes less time than it saves, or if the part would be copied anyway.
//
// Blocks change the place of numbers, but not the order in which they are added: both formats give the same bits.
#ifndef CLEAVE_KERNELS_MATMUL_HOST_PARTEDMATMUL_H
#define CLEAVE_KERNELS_MATMUL_HOST_PARTEDMATMUL_H

#include "kernels/common/host/Dnnl.h"
#include "kernels/matmul/host/Matmul.h"

#include <optional>

namespace cleave::rt {

// Returns the same product with the plainest parameters.
// - A matrix of one row or one column is the same transposed or not. The library (2.6.3) treats two such descriptors
//   as
// equal, and returns the primitive that it has made for either, whose scratch may differ. So a shape must have one
// descriptor.
// - With a shared right operand, a batch becomes one tall multiplication: many rows use the machine better than many
//   batches.
MatmulShape plainest(MatmulShape shape);

// The format of the right operand of a primitive.
enum class FormOfB {
  Stored,  // as the parameters say
  Rows,    // [k, n], whatever the parameters say
  Blocked, // the library's format for each part: on AVX-512, blocks of 16 x 64 numbers
};

// Computes the sum of the products for `length` values of k. If `isAdded`, the sum is added to the present result.
// Otherwise the part is the first one, and begins with the bias.
struct DnnlMatmul {
  DnnlMatmul(const MatmulShape &shape, FormOfB form, int64_t length, bool isAdded);

  size_t packedBytes() const { return desc.weights_desc().get_size(); }
  // True if the library's kernel for AVX-512 computes it, which reads plain matrices and blocks.
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
  // True if the library must be given copies of the operands of a part.
  bool needsCopies(const MatmulShape &shape, bool isTransposedB) const;
};

struct PartedMatmul {
  explicit PartedMatmul(const MatmulShape &shape);

  size_t bytesOfB() const; // of its buffer
  // Bytes from the beginning of the stored operand to the beginning of a part.
  size_t skipA(size_t part) const { return beginOf(part) * (shape.transposeA ? shape.m : 1) * dtypeSize(shape.dtype); }
  size_t skipB(size_t part) const { return beginOf(part) * (shape.transposeB ? 1 : shape.n) * dtypeSize(shape.dtype); }

  MatmulShape shape;
  FormOfB form;
  std::vector<DnnlMatmul> parts;

private:
  void describeParts(FormOfB wanted);
  bool areBlockedKernels() const;
  bool copiesB() const; // true: the library reads a part of [n, k] only as a separate matrix
  size_t beginOf(size_t part) const;
};

} // namespace cleave::rt

#endif

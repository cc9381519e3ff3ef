#include "kernels/matmul/host/PartedMatmul.h"

#include "runtime/plan/OutsideMemory.h"

#include <algorithm>
#include <string_view>

namespace cleave::rt {

namespace {

// kPartOfSum is the number of products that are added in one chain. Longer sums are split into parts, so that rounding
// errors grow more slowly: at 9216 products (the MNIST CNN's first linear layer), the error falls from 5.9e-7 of the
// result to 3.9e-7 with the library's blocked kernel, and to 1.5e-7 with its other kernel. The parts cost 2 to 28 % of
// the time, most if a transposed right operand must be copied for few rows (one core of a Zen 4). Each part is a
// primitive, so the number of parts has a bound.
//
// For an operand that was packed before: one chain over 2048 to 14336 products has an error of 5.8e-7, parts of 384
// have 3.6e-7, and parts of 768 have 3.8e-7. PyTorch has 2.6e-7, and twice this is the bound. Longer parts read and
// write the result less often: 512 x 3072 x 4096 takes 0.92 of the time that it takes in parts of 384 (one core of a
// Zen 5).
constexpr int64_t kPartOfPackedSum = 768;
// For one row times a packed operand, the calls of the parts take much of the time, and PyTorch's own error is 5.2e-7
// at 3072 products and 8.7e-7 at 9216. One chain of the library has 6.0e-7 and 6.8e-7.
constexpr int64_t kPartOfPackedRow = 8192;

// Packing costs k * n and saves m * k * n, so it pays from a certain number of rows on (Rationale.md has the figures).
// It pays earlier if rows are whole pages: these compete for the same places of the caches when they are read in place.
constexpr int64_t kRowsThatPay = 512, kRowsThatPayForPages = 256, kNumbersOfPage = 1024;
// The sizes of the library's blocks. A matrix that does not fill them would be padded.
constexpr int64_t kBlockOfN = 64, kBlockOfK = 16;
// The largest scratch for a part's blocks, in bytes.
constexpr int64_t kMostScratch = 32 << 20;

dnnl::memory::dims stridesOf(int64_t rows, int64_t columns, bool transposed) {
  return transposed ? dnnl::memory::dims{rows * columns, 1, rows} : dnnl::memory::dims{rows * columns, columns, 1};
}

// The number of values of k in a part. The last part has the rest.
int64_t partOfSum(const MatmulShape &s) {
  int64_t part = !s.packedB ? kPartOfSum : s.m > 1 ? kPartOfPackedSum : kPartOfPackedRow;
  if (s.dtype != fb::DType::f32 || s.k <= std::max(part, kLongestSum))
    return s.k;
  int64_t parts = std::min(kMostParts, (s.k + part - 1) / part);
  return ((s.k + parts - 1) / parts + 15) / 16 * 16; // whole cache lines
}

// True if the right operand is plain and fills the library's blocks.
bool canPack(const MatmulShape &s) {
  bool isPlain = !s.packedB && s.batch == 1 && s.dtype == fb::DType::f32;
  bool isWhole = s.n % kBlockOfN == 0 && s.k % kBlockOfK == 0;
  int64_t bytes = std::min(s.k, partOfSum(s)) * s.n * static_cast<int64_t>(sizeof(float));
  return isPlain && isWhole && bytes <= kMostScratch;
}

// True if packing takes less time than it saves. A transposed operand is read fast enough in place.
bool hasRowsThatPay(const MatmulShape &s) {
  return !s.transposeB && s.m >= (s.n % kNumbersOfPage == 0 ? kRowsThatPayForPages : kRowsThatPay);
}

} // namespace

MatmulShape plainest(MatmulShape s) {
  s.transposeA = s.transposeA && s.m > 1 && s.k > 1;
  s.transposeB = s.transposeB && s.k > 1 && s.n > 1;
  if (s.batchB == 1 && s.batchA == s.batch && !s.transposeA) {
    s.m *= s.batch;
    s.batch = s.batchA = 1;
  }
  return s;
}

DnnlMatmul::DnnlMatmul(const MatmulShape &s, FormOfB form, int64_t length, bool isAdded)
    : isSingle(form != FormOfB::Stored && s.batch == 1) {
  a = matrices(s.batchA, s.m, length, stridesOf(s.m, s.k, s.transposeA), s.dtype);
  stored = matrices(s.batchB, length, s.n, stridesOf(s.k, s.n, s.transposeB), s.dtype);
  c = matrices(s.batch, s.m, s.n, stridesOf(s.m, s.n, false), s.outDtype);
  if (isAdded) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  if (s.hasBias && !isAdded)
    bias = matrices(1, 1, s.n, {s.n, s.n, 1}, s.outDtype);
  bool isStored = form == FormOfB::Stored;
  auto b = isStored ? stored : matrices(s.batchB, length, s.n, stridesOf(length, s.n, false), s.dtype);
  if (form == FormOfB::Blocked)
    b = {b.dims(), b.data_type(), dnnl::memory::format_tag::any};
  desc = describe(a, b);
  if (length < s.k && needsCopies(s, isStored && s.transposeB)) {
    auto denseA = matrices(s.batchA, s.m, length, stridesOf(s.m, length, s.transposeA), s.dtype);
    auto denseB = matrices(s.batchB, length, s.n, stridesOf(length, s.n, s.transposeB), s.dtype);
    desc = describe(denseA, isStored ? denseB : b);
  }
}

// The stride of a single batch or row has no meaning. It is set to that of the part. So a part of whole rows is
// described as the dense matrix that it is, and is not copied; and a shape has one descriptor (plainest()). A single
// matrix that is packed has two dimensions, because with three dimensions the library (2.6.3) accepts only plain
// matrices.
dnnl::memory::desc DnnlMatmul::matrices(int64_t batch, int64_t rows, int64_t columns, dnnl::memory::dims strides,
                                        fb::DType dtype) const {
  auto type = dtype == fb::DType::f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
  if (rows == 1)
    strides[1] = columns * strides[2];
  if (isSingle)
    return {{rows, columns}, type, {strides[1], strides[2]}};
  if (batch == 1)
    strides[0] = std::max(rows * strides[1], columns * strides[2]);
  return {{batch, rows, columns}, type, std::move(strides)};
}

dnnl::matmul::primitive_desc DnnlMatmul::describe(const dnnl::memory::desc &left,
                                                  const dnnl::memory::desc &right) const {
  auto what = bias ? dnnl::matmul::desc(left, right, *bias, c) : dnnl::matmul::desc(left, right, c);
  return {what, attributes, DnnlBuilder::engine()};
}

bool DnnlMatmul::isBlockedKernel() const { return std::string_view(desc.impl_info_str()).substr(0, 3) == "brg"; }

// The library's blocked kernel reads a part of each row only from a copy. Its other kernel makes such copies itself, in
// memory that no plan knows, unless there are few rows and only b is transposed (seen in 2.6.3: none at 8 rows, 73,984
// bytes and more from 16 rows on). It makes none for several matrices of few rows either, but then the order in which
// it adds depends on the number of threads.
bool DnnlMatmul::needsCopies(const MatmulShape &s, bool isTransposedB) const {
  int64_t mostRows = s.batch > 1 ? 0 : isTransposedB && !s.transposeA ? 8 : 1;
  return !isBlockedKernel() && s.m > mostRows;
}

PartedMatmul::PartedMatmul(const MatmulShape &s) : shape(s) {
  describeParts(s.packedB ? FormOfB::Blocked : FormOfB::Stored);
  // Padded blocks do not fit in the bytes of the plain operand, and the packed operand must.
  if (s.packedB && bytesOfB() > s.operandBytes()[1])
    describeParts(FormOfB::Rows);
  // The bits stay the same only if one kind of kernel computes both formats.
  if (!canPack(s) || !(copiesB() || hasRowsThatPay(s)) || !areBlockedKernels())
    return;
  describeParts(FormOfB::Blocked);
  if (!areBlockedKernels())
    describeParts(FormOfB::Stored);
}

void PartedMatmul::describeParts(FormOfB wanted) {
  form = wanted;
  parts.clear();
  for (int64_t begin = 0, length = partOfSum(shape); begin < shape.k; begin += length)
    parts.emplace_back(shape, form, std::min(length, shape.k - begin), /*isAdded=*/begin > 0);
}

bool PartedMatmul::areBlockedKernels() const {
  return std::all_of(parts.begin(), parts.end(), [](const DnnlMatmul &part) { return part.isBlockedKernel(); });
}

bool PartedMatmul::copiesB() const {
  return std::any_of(parts.begin(), parts.end(),
                     [](const DnnlMatmul &part) { return part.stored != part.desc.weights_desc(); });
}

size_t PartedMatmul::bytesOfB() const {
  if (!shape.packedB)
    return shape.operandBytes()[1];
  size_t bytes = 0;
  for (const DnnlMatmul &part : parts)
    bytes += part.packedBytes();
  return bytes;
}

size_t PartedMatmul::beginOf(size_t part) const { return part * static_cast<size_t>(partOfSum(shape)); }

} // namespace cleave::rt

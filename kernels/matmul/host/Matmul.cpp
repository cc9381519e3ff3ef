#include "kernels/matmul/host/Matmul.h"

#include "kernels/common/host/Dnnl.h"
#include "kernels/common/host/ThroughFloat.h"
#include "kernels/common/host/Types.h"
#include "runtime/plan/OutsideMemory.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace cleave::rt {

// The kernel with a bias, and the one that packs for it, whose buffers have none.
static constexpr std::string_view kWithBias = "matmul_bias";

Status MatmulShape::read(const KernelArgs &args, MatmulShape *s) {
  *s = {args["batch"],
        args["batch_a"],
        args["batch_b"],
        args["m"],
        args["n"],
        args["k"],
        args["transpose_a"] != 0,
        args["transpose_b"] != 0,
        args["packed_b"] != 0,
        args.def().name.substr(0, kWithBias.size()) == kWithBias,
        args.dtype(),
        args.dtype("out_dtype")};
  size_t unused = 0;
  CLEAVE_TRY(countElements({s->batchA, s->m, s->k}, &unused));
  CLEAVE_TRY(countElements({s->batchB, s->k, s->n}, &unused));
  CLEAVE_TRY(countElements({s->batch, s->m, s->n}, &unused));
  for (int64_t batch : {s->batchA, s->batchB})
    if (batch != 1 && batch != s->batch)
      return invalidArgument("an operand has " + std::to_string(batch) + " batches; expected 1 or " +
                             std::to_string(s->batch));
  bool isHalf = s->dtype == fb::DType::bf16 || s->dtype == fb::DType::f16;
  bool known = s->dtype == fb::DType::f32 || s->dtype == fb::DType::f64 || isHalf;
  if (!known || (s->outDtype != s->dtype && !(isHalf && s->outDtype == fb::DType::f32)))
    return invalidArgument(std::string("there is no multiplication of ") + fb::EnumNameDType(s->dtype) + " into " +
                           fb::EnumNameDType(s->outDtype));
  return Status::ok();
}

std::vector<size_t> MatmulShape::operandBytes() const {
  size_t in = dtypeSize(dtype), out = dtypeSize(outDtype);
  std::vector<size_t> bytes = {static_cast<size_t>(batchA * m * k) * in, static_cast<size_t>(batchB * k * n) * in};
  if (hasBias)
    bytes.push_back(static_cast<size_t>(n) * out);
  bytes.push_back(static_cast<size_t>(batch * m * n) * out);
  return bytes;
}

namespace {

// Products that are added in one chain. Longer sums are made of parts, whose roundings do not add up as fast: at 9216
// products (the MNIST CNN's first linear layer) the error falls from 5.9e-7 of the result to 3.9e-7 with the library's
// blocked kernel and to 1.5e-7 with its other one. The parts cost 2 to 28 % of the time, most where a transposed right
// operand must be copied for few rows (one core of a Zen 4).
// Each part is a primitive, so that there is a bound on their number.
constexpr int64_t kPartOfSum = 384, kMostParts = 1024;
// Of a packed operand. One chain over 2048 to 14336 products has an error of 5.8e-7, parts of 384 have 3.6e-7 and parts
// of 768 have 3.8e-7; PyTorch has 2.6e-7, and twice that is the bound. Longer parts read and write the result less
// often: 512 x 3072 x 4096 takes 0.92 of the time that it takes in parts of 384 (one core of a Zen 5).
constexpr int64_t kPartOfPackedSum = 768;
// Of one row times a packed operand, where the parts' calls are a good part of the time, and where PyTorch's own error
// is 5.2e-7 at 3072 products and 8.7e-7 at 9216. One chain of the library's has 6.0e-7 and 6.8e-7.
constexpr int64_t kPartOfPackedRow = 8192;

dnnl::memory::dims stridesOf(int64_t rows, int64_t columns, bool transposed) {
  return transposed ? dnnl::memory::dims{rows * columns, 1, rows} : dnnl::memory::dims{rows * columns, columns, 1};
}

// A shared right operand makes one tall multiplication: many rows use the machine better than many batches.
MatmulShape joinBatches(MatmulShape s) {
  if (s.batchB == 1 && s.batchA == s.batch && !s.transposeA) {
    s.m *= s.batch;
    s.batch = s.batchA = 1;
  }
  return s;
}

// How the right operand lies in its buffer. Parts of sums (partOfSum) lie one after the other, each in that form.
enum class FormOfB {
  Stored,  // as the parameters say
  Rows,    // [k, n], whatever the parameters say
  Blocked, // as the library wants each part: on AVX-512, blocks of 16 x 64 numbers
};

// Sums the products of `length` values of k, to what is there already where it is added, and to the bias where it is
// not: then it begins the sum.
struct DnnlMatmul {
  DnnlMatmul(const MatmulShape &s, FormOfB form, int64_t length, bool isAdded)
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
    if (length < s.k && packsByItself(s, isStored && s.transposeB)) {
      auto denseA = matrices(s.batchA, s.m, length, stridesOf(s.m, length, s.transposeA), s.dtype);
      auto denseB = matrices(s.batchB, length, s.n, stridesOf(length, s.n, s.transposeB), s.dtype);
      desc = describe(denseA, isStored ? denseB : b);
    }
  }

  // The stride of a single batch (or row) means nothing. It is that of the part, so that a part of whole rows is taken
  // for the dense matrix that it is, and is not copied. A single matrix that is packed has two dimensions: of three the
  // library (2.6.3) wants plain ones alone.
  dnnl::memory::desc matrices(int64_t batch, int64_t rows, int64_t columns, dnnl::memory::dims strides,
                              fb::DType dtype) const {
    auto type = dtype == fb::DType::f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
    if (isSingle)
      return {{rows, columns}, type, {rows == 1 ? columns * strides[2] : strides[1], strides[2]}};
    if (batch == 1)
      strides[0] = std::max(rows * strides[1], columns * strides[2]);
    return {{batch, rows, columns}, type, std::move(strides)};
  }

  dnnl::matmul::primitive_desc describe(const dnnl::memory::desc &left, const dnnl::memory::desc &right) const {
    auto what = bias ? dnnl::matmul::desc(left, right, *bias, c) : dnnl::matmul::desc(left, right, c);
    return {what, attributes, DnnlBuilder::engine()};
  }

  // The library's blocked kernel takes parts of rows only from a copy of them. Its other one copies them itself, into
  // memory that no plan knows, unless there are few rows and b alone is transposed (seen in 2.6.3: none at 8, 73,984
  // bytes and more from 16 on).
  bool packsByItself(const MatmulShape &s, bool isTransposedB) const {
    bool isBlocked = std::string_view(desc.impl_info_str()).substr(0, 3) == "brg";
    return !isBlocked && s.m > (isTransposedB && !s.transposeA ? 8 : 1);
  }

  size_t packedBytes() const { return desc.weights_desc().get_size(); }

  bool isSingle;
  dnnl::memory::desc a, stored, c; // `stored`: b before it is packed
  std::optional<dnnl::memory::desc> bias;
  dnnl::primitive_attr attributes = DnnlBuilder::attributes();
  dnnl::matmul::primitive_desc desc;
};

// Values of k in a part; the last part has what is left.
int64_t partOfSum(const MatmulShape &s) {
  int64_t part = !s.packedB ? kPartOfSum : s.m > 1 ? kPartOfPackedSum : kPartOfPackedRow;
  if (s.dtype != fb::DType::f32 || s.k <= std::max(part, kLongestSum))
    return s.k;
  int64_t parts = std::min(kMostParts, (s.k + part - 1) / part);
  return ((s.k + parts - 1) / parts + 15) / 16 * 16; // whole cache lines
}

// A product as the primitives that compute it.
struct PartedMatmul {
  explicit PartedMatmul(const MatmulShape &s) : shape(s) {
    form = s.packedB ? FormOfB::Blocked : FormOfB::Stored;
    describeParts();
    // Blocks that pad do not fit in the bytes of the plain operand, where the packed one must lie.
    if (s.packedB && bytesOfB() > s.operandBytes()[1]) {
      form = FormOfB::Rows;
      describeParts();
    }
  }

  void describeParts() {
    parts.clear();
    for (int64_t begin = 0, length = partOfSum(shape); begin < shape.k; begin += length)
      parts.emplace_back(shape, form, std::min(length, shape.k - begin), /*isAdded=*/begin > 0);
  }

  size_t bytesOfB() const {
    if (form == FormOfB::Stored)
      return shape.operandBytes()[1];
    size_t bytes = 0;
    for (const DnnlMatmul &part : parts)
      bytes += part.packedBytes();
    return bytes;
  }

  // Where a part's products begin in the operands as they are stored.
  size_t skipA(size_t part) const { return beginOf(part) * (shape.transposeA ? shape.m : 1) * dtypeSize(shape.dtype); }
  size_t skipB(size_t part) const { return beginOf(part) * (shape.transposeB ? 1 : shape.n) * dtypeSize(shape.dtype); }
  size_t beginOf(size_t part) const { return part * static_cast<size_t>(partOfSum(shape)); }

  MatmulShape shape;
  FormOfB form;
  std::vector<DnnlMatmul> parts;
};

} // namespace

static Status checkSizes(const MatmulShape &s) { return checkDnnlSizes({s.batch, s.m, s.n, s.k}); }

static Status makeDnnlMatmul(const MatmulShape &shape, std::unique_ptr<HostKernel> *result) {
  MatmulShape s = joinBatches(shape);
  CLEAVE_TRY(checkSizes(s));
  return guardDnnl([&] {
    PartedMatmul matmul(s);
    std::vector<size_t> bytes = shape.operandBytes();
    bytes[1] = matmul.bytesOfB();
    DnnlBuilder builder(/*scratchBuffer=*/s.resultBuffer() + 1);
    size_t packed = 0;
    for (size_t i = 0; i < matmul.parts.size(); ++i) {
      const DnnlMatmul &part = matmul.parts[i];
      auto weights = part.desc.weights_desc();
      auto b =
          s.packedB ? builder.operand(1, weights, packed) : builder.input(1, part.stored, weights, matmul.skipB(i));
      packed += part.packedBytes();
      DnnlArgs args = {{DNNL_ARG_SRC, builder.input(0, part.a, part.desc.src_desc(), matmul.skipA(i))},
                       {DNNL_ARG_WEIGHTS, b},
                       {DNNL_ARG_DST, builder.operand(s.resultBuffer(), part.c)}};
      if (part.bias)
        args[DNNL_ARG_BIAS] = builder.operand(2, *part.bias);
      builder.step(dnnl::matmul(part.desc), args, part.desc.scratchpad_desc());
      builder.freeScratch();
    }
    *result = builder.finish(std::move(bytes));
    return Status::ok();
  });
}

static Status makeDnnlPack(const MatmulShape &shape, std::unique_ptr<HostKernel> *result) {
  MatmulShape s = joinBatches(shape);
  CLEAVE_TRY(checkSizes(s));
  return guardDnnl([&] {
    PartedMatmul matmul(s);
    std::vector<DnnlPiece> pieces;
    size_t packed = 0;
    for (size_t i = 0; i < matmul.parts.size(); ++i) {
      const DnnlMatmul &part = matmul.parts[i];
      pieces.push_back({part.stored, matmul.skipB(i), part.desc.weights_desc(), packed});
      packed += part.packedBytes();
    }
    DnnlBuilder builder(/*scratchBuffer=*/1);
    builder.repack(0, pieces);
    *result = builder.finish({std::max(shape.operandBytes()[1], packed)});
    return Status::ok();
  });
}

Status makeMatmul(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  MatmulShape shape;
  CLEAVE_TRY(MatmulShape::read(args, &shape));
  if (shape.dtype == fb::DType::f64)
    return makeReferenceMatmul(shape, threads, result);
  if (shape.dtype == fb::DType::f32 || hasNativeProducts(shape.dtype))
    return makeDnnlMatmul(shape, result);
  MatmulShape wide = shape;
  wide.dtype = wide.outDtype = fb::DType::f32;
  wide.packedB = false; // makeMatmulPack() leaves it plain
  std::unique_ptr<HostKernel> inner;
  CLEAVE_TRY(makeDnnlMatmul(wide, &inner));
  auto count = [](int64_t batch, int64_t rows, int64_t columns) { return static_cast<size_t>(batch * rows * columns); };
  std::vector<ConvertedBuffer> buffers = {{shape.dtype, count(shape.batchA, shape.m, shape.k), true, false},
                                          {shape.dtype, count(shape.batchB, shape.k, shape.n), true, false}};
  if (shape.hasBias)
    buffers.push_back({shape.outDtype, count(1, 1, shape.n), true, false});
  buffers.push_back({shape.outDtype, count(shape.batch, shape.m, shape.n), false, true});
  *result = makeThroughFloat(std::move(inner), std::move(buffers), threads);
  return Status::ok();
}

Status makeMatmulPack(const KernelArgs &args, int, std::unique_ptr<HostKernel> *result) {
  MatmulShape shape;
  CLEAVE_TRY(MatmulShape::read(args, &shape));
  shape.packedB = true;
  if (shape.dtype == fb::DType::f32 || (shape.dtype == fb::DType::bf16 && hasNativeProducts(shape.dtype)))
    return makeDnnlPack(shape, result);
  // The other ways read plain operands: there is nothing to do.
  *result = DnnlBuilder(/*scratchBuffer=*/1).finish({shape.operandBytes()[1]});
  return Status::ok();
}

} // namespace cleave::rt

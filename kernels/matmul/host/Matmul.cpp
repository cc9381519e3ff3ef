#include "kernels/matmul/host/Matmul.h"

#include "kernels/common/host/Dnnl.h"
#include "kernels/common/host/ThroughFloat.h"
#include "kernels/common/host/Types.h"

#include <algorithm>
#include <optional>
#include <string_view>

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
constexpr int64_t kLongestSum = 1024, kPartOfSum = 384, kMostParts = 1024;

dnnl::memory::desc matrices(int64_t batch, int64_t rows, int64_t columns, dnnl::memory::dims strides, fb::DType dtype) {
  auto type = dtype == fb::DType::f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
  return {{batch, rows, columns}, type, std::move(strides)};
}

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

// Sums the products of `length` values of k, to what is there already where it is added, and to the bias where it is
// not: then it begins the sum.
struct DnnlMatmul {
  DnnlMatmul(const MatmulShape &s, int64_t length, bool isAdded) {
    a = matrices(s.batchA, s.m, length, stridesOf(s.m, s.k, s.transposeA), s.dtype);
    b = matrices(s.batchB, length, s.n, stridesOf(s.k, s.n, s.transposeB), s.dtype);
    c = matrices(s.batch, s.m, s.n, stridesOf(s.m, s.n, false), s.outDtype);
    if (isAdded) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attributes.set_post_ops(sum);
    }
    if (s.hasBias && !isAdded)
      bias = matrices(1, 1, s.n, {s.n, s.n, 1}, s.outDtype);
    auto wanted = b;
    if (s.packedB)
      wanted = {b.dims(), b.data_type(), dnnl::memory::format_tag::any};
    desc = describe(a, wanted);
    if (length < s.k && packsByItself(s)) {
      auto denseA = matrices(s.batchA, s.m, length, stridesOf(s.m, length, s.transposeA), s.dtype);
      auto denseB = matrices(s.batchB, length, s.n, stridesOf(length, s.n, s.transposeB), s.dtype);
      desc = describe(denseA, denseB);
    }
  }

  dnnl::matmul::primitive_desc describe(const dnnl::memory::desc &left, const dnnl::memory::desc &right) const {
    auto what = bias ? dnnl::matmul::desc(left, right, *bias, c) : dnnl::matmul::desc(left, right, c);
    return {what, attributes, DnnlBuilder::engine()};
  }

  // The library's blocked kernel takes parts of rows only from a copy of them. Its other one copies them itself, into
  // memory that no plan knows, unless there are few rows and b alone is transposed (seen in 2.6.3: none at 8, 73,984
  // bytes and more from 16 on).
  bool packsByItself(const MatmulShape &s) const {
    bool isBlocked = std::string_view(desc.impl_info_str()).substr(0, 3) == "brg";
    return !isBlocked && s.m > (s.transposeB && !s.transposeA ? 8 : 1);
  }

  dnnl::memory::desc a, b, c; // as they are stored; b unless it is packed
  std::optional<dnnl::memory::desc> bias;
  dnnl::primitive_attr attributes = DnnlBuilder::attributes();
  dnnl::matmul::primitive_desc desc;
};

// A packed operand, whose format is the library's own, is not cut.
int64_t partOfSum(const MatmulShape &s) {
  if (s.packedB || s.dtype != fb::DType::f32 || s.k <= kLongestSum)
    return s.k;
  int64_t parts = std::min(kMostParts, (s.k + kPartOfSum - 1) / kPartOfSum);
  return ((s.k + parts - 1) / parts + 15) / 16 * 16; // whole cache lines
}

} // namespace

static Status checkSizes(const MatmulShape &s) { return checkDnnlSizes({s.batch, s.m, s.n, s.k}); }

static Status makeDnnlMatmul(const MatmulShape &shape, std::unique_ptr<HostKernel> *result) {
  MatmulShape s = joinBatches(shape);
  CLEAVE_TRY(checkSizes(s));
  return guardDnnl([&] {
    std::vector<size_t> bytes = shape.operandBytes();
    DnnlBuilder builder(/*scratchBuffer=*/s.resultBuffer() + 1);
    int64_t begin = 0, length = partOfSum(s);
    do {
      DnnlMatmul part(s, std::min(length, s.k - begin), /*isAdded=*/begin > 0);
      if (s.packedB)
        bytes[1] = part.desc.weights_desc().get_size();
      size_t skipA = static_cast<size_t>(begin * (s.transposeA ? s.m : 1)) * dtypeSize(s.dtype);
      size_t skipB = static_cast<size_t>(begin * (s.transposeB ? 1 : s.n)) * dtypeSize(s.dtype);
      auto b = s.packedB ? part.desc.weights_desc() : part.b;
      DnnlArgs args = {{DNNL_ARG_SRC, builder.input(0, part.a, part.desc.src_desc(), skipA)},
                       {DNNL_ARG_WEIGHTS, builder.input(1, b, part.desc.weights_desc(), skipB)},
                       {DNNL_ARG_DST, builder.operand(s.resultBuffer(), part.c)}};
      if (part.bias)
        args[DNNL_ARG_BIAS] = builder.operand(2, *part.bias);
      builder.step(dnnl::matmul(part.desc), args, part.desc.scratchpad_desc());
      builder.freeScratch();
      begin += length;
    } while (begin < s.k);
    *result = builder.finish(std::move(bytes));
    return Status::ok();
  });
}

static Status makeDnnlPack(const MatmulShape &s, std::unique_ptr<HostKernel> *result) {
  CLEAVE_TRY(checkSizes(joinBatches(s)));
  return guardDnnl([&] {
    DnnlMatmul matmul(joinBatches(s), s.k, /*isAdded=*/false);
    auto wanted = matmul.desc.weights_desc();
    DnnlBuilder builder(/*scratchBuffer=*/1);
    builder.repack(0, matmul.b, wanted);
    *result = builder.finish({std::max(s.operandBytes()[1], wanted.get_size())});
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

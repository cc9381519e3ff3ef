#include "kernels/matmul/host/Matmul.h"

#include "kernels/common/host/ThroughFloat.h"
#include "kernels/common/host/Types.h"
#include "kernels/matmul/host/BlockedMatmul.h"
#include "kernels/matmul/host/PartedMatmul.h"

#include <algorithm>
#include <vector>

namespace cleave::rt {

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
        args.def().reader().findBuffer("bias").has_value(),
        args.dtype(),
        args.dtype("out_dtype")};
  CLEAVE_TRY(checkPositiveSizes({s->batchA, s->m, s->k}));
  CLEAVE_TRY(checkPositiveSizes({s->batchB, s->k, s->n}));
  CLEAVE_TRY(checkPositiveSizes({s->batch, s->m, s->n}));
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

static Status checkSizes(const MatmulShape &s) { return checkDnnlSizes({s.batch, s.m, s.n, s.k}); }

static Status makeDnnlMatmul(const MatmulShape &shape, std::unique_ptr<HostKernel> *result) {
  MatmulShape s = plainest(shape);
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
      builder.call(dnnl::matmul(part.desc), args, part.desc.scratchpad_desc());
      builder.freeScratch();
    }
    *result = builder.finish(std::move(bytes));
    return Status::ok();
  });
}

// For f32: the library is used only for its AVX-512 kernels, whose memory and order of sums are known.
static Status makeFloatMatmul(const MatmulShape &shape, int threads, std::unique_ptr<HostKernel> *result) {
  if (DnnlBuilder::hasAvx512())
    return makeDnnlMatmul(shape, result);
  MatmulShape s = plainest(shape);
  if (s.packedB) // packed by makeRowsPack()
    s.transposeB = s.packedB = false;
  *result = makeBlockedMatmul(s, threads);
  return Status::ok();
}

// Packs the right operand for BlockedMatmul: as [k, n], from either stored format.
static Status makeRowsPack(const MatmulShape &s, std::unique_ptr<HostKernel> *result) {
  CLEAVE_TRY(checkSizes(s));
  return guardDnnl([&] {
    auto describe = [&](bool transposed) {
      auto strides = transposed ? dnnl::memory::dims{s.k * s.n, 1, s.k} : dnnl::memory::dims{s.k * s.n, s.n, 1};
      return dnnl::memory::desc({s.batchB, s.k, s.n}, dnnl::memory::data_type::f32, strides);
    };
    DnnlBuilder builder(/*scratchBuffer=*/1);
    builder.repack(0, {{describe(s.transposeB), 0, describe(false), 0}});
    *result = builder.finish({s.operandBytes()[1]});
    return Status::ok();
  });
}

static Status makeDnnlPack(const MatmulShape &shape, std::unique_ptr<HostKernel> *result) {
  MatmulShape s = plainest(shape);
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
  if (shape.dtype == fb::DType::f32)
    return makeFloatMatmul(shape, threads, result);
  if (hasNativeProducts(shape.dtype))
    return makeDnnlMatmul(shape, result);
  MatmulShape wide = shape;
  wide.dtype = wide.outDtype = fb::DType::f32;
  wide.packedB = false; // makeMatmulPack() has left it plain
  std::unique_ptr<HostKernel> inner;
  CLEAVE_TRY(makeFloatMatmul(wide, threads, &inner));
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
  if (shape.dtype == fb::DType::f32)
    return DnnlBuilder::hasAvx512() ? makeDnnlPack(shape, result) : makeRowsPack(shape, result);
  if (shape.dtype == fb::DType::bf16 && hasNativeProducts(shape.dtype))
    return makeDnnlPack(shape, result);
  // All other kernels read plain operands, so there is nothing to pack.
  *result = DnnlBuilder(/*scratchBuffer=*/1).finish({shape.operandBytes()[1]});
  return Status::ok();
}

} // namespace cleave::rt

#include "kernels/matmul/host/Matmul.h"

#include "kernels/common/host/Dnnl.h"
#include "kernels/common/host/Types.h"

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
        args["accumulate"] != 0,
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
  return {static_cast<size_t>(batchA * m * k) * in, static_cast<size_t>(batchB * k * n) * in,
          static_cast<size_t>(batch * m * n) * out};
}

static dnnl::memory::desc matrices(int64_t batch, int64_t rows, int64_t columns, bool transposed, fb::DType dtype) {
  auto type = dtype == fb::DType::f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
  dnnl::memory::dims strides =
      transposed ? dnnl::memory::dims{rows * columns, 1, rows} : dnnl::memory::dims{rows * columns, columns, 1};
  return {{batch, rows, columns}, type, strides};
}

static Status makeDnnlMatmul(MatmulShape s, std::unique_ptr<HostKernel> *result) {
  std::vector<size_t> bytes = s.operandBytes();
  // A shared right operand makes one tall multiplication: many rows use the machine better than many batches.
  if (s.batchB == 1 && s.batchA == s.batch && !s.transposeA) {
    s.m *= s.batch;
    s.batch = s.batchA = 1;
  }
  auto a = matrices(s.batchA, s.m, s.k, s.transposeA, s.dtype);
  auto b = matrices(s.batchB, s.k, s.n, s.transposeB, s.dtype);
  auto c = matrices(s.batch, s.m, s.n, false, s.outDtype);
  dnnl::primitive_attr attributes = DnnlBuilder::attributes();
  if (s.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  return guardDnnl([&] {
    dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(a, b, c), attributes, DnnlBuilder::engine());
    DnnlBuilder builder(/*scratchBuffer=*/3);
    DnnlArgs args = {{DNNL_ARG_SRC, builder.operand(0, a)},
                     {DNNL_ARG_WEIGHTS, builder.operand(1, b)},
                     {DNNL_ARG_DST, builder.operand(2, c)}};
    builder.step(dnnl::matmul(desc), args, desc.scratchpad_desc());
    *result = builder.finish(bytes);
    return Status::ok();
  });
}

Status makeMatmul(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  MatmulShape shape;
  CLEAVE_TRY(MatmulShape::read(args, &shape));
  if (shape.dtype == fb::DType::f32)
    return makeDnnlMatmul(shape, result);
  // bf16 needs AVX-512; without it the reference kernel computes the same: exact products, sums in f32.
  if (shape.dtype == fb::DType::bf16 && makeDnnlMatmul(shape, result).isOk())
    return Status::ok();
  return makeReferenceMatmul(shape, threads, result);
}

} // namespace cleave::rt

#include "kernels/convolution/host/Convolution.h"

#include "kernels/common/host/Dnnl.h"
#include "kernels/common/host/ThroughFloat.h"

#include <algorithm>
#include <cstring>

namespace cleave::rt {

// The most elements of a window. oneDNN's choice of blocks does not end for much larger ones, or divides by zero.
static constexpr size_t kMaxWindow = size_t{1} << 24;

Status ConvolutionShape::read(const KernelArgs &args, ConvolutionShape *s) {
  s->dtype = args.dtype();
  s->n = args["n"];
  s->ic = args["ic"];
  s->oc = args["oc"];
  s->groups = args["groups"];
  s->packedWeights = args["packed_w"] != 0;
  CLEAVE_TRY(Window::read(args, &s->window));
  if (s->groups < 1 || s->ic % s->groups != 0 || s->oc % s->groups != 0)
    return invalidArgument(std::to_string(s->groups) + " groups do not divide " + std::to_string(s->ic) +
                           " input and " + std::to_string(s->oc) + " output channels");
  size_t unused = 0, windowSize = 0;
  CLEAVE_TRY(countElements({s->window.kernel[0], s->window.kernel[1], s->window.kernel[2]}, &windowSize));
  if (windowSize > kMaxWindow)
    return invalidArgument("its window has " + std::to_string(windowSize) + " elements; expected at most " +
                           std::to_string(kMaxWindow));
  CLEAVE_TRY(countElements({s->n, s->ic, s->window.inSize()}, &unused));
  CLEAVE_TRY(countElements({s->n, s->oc, s->window.outSize()}, &unused));
  return countElements({s->oc, s->ic / s->groups, s->window.kernelSize()}, &unused);
}

namespace {

using dnnl::memory;

// What oneDNN wants to know, at the rank of the plan.
struct DnnlConvolution {
  DnnlConvolution(const KernelArgs &args, const ConvolutionShape &s) {
    type = s.dtype == fb::DType::f32 ? memory::data_type::f32 : memory::data_type::bf16;
    packedWeights = s.packedWeights;
    x = {s.n, s.ic};
    y = {s.n, s.oc};
    w = s.groups == 1 ? memory::dims{s.oc, s.ic} : memory::dims{s.groups, s.oc / s.groups, s.ic / s.groups};
    append(&x, args.list("in"));
    append(&y, args.list("out"));
    append(&w, args.list("kernel"));
    append(&stride, args.list("stride"));
    append(&padLow, args.list("pad_low"));
    append(&padHigh, args.list("pad_high"));
    for (int64_t d : args.list("dilation"))
      dilation.push_back(d - 1); // oneDNN counts the gaps
  }

  static void append(memory::dims *dims, const std::vector<int64_t> &values) {
    dims->insert(dims->end(), values.begin(), values.end());
  }

  memory::desc plain(const memory::dims &dims) const {
    memory::dims strides(dims.size(), 1);
    for (size_t i = dims.size() - 1; i-- > 0;)
      strides[i] = strides[i + 1] * dims[i + 1];
    return {dims, type, strides};
  }
  memory::desc any(const memory::dims &dims) const { return {dims, type, memory::format_tag::any}; }

  dnnl::convolution_forward::primitive_desc forward(dnnl::prop_kind kind) const {
    dnnl::convolution_forward::desc desc(kind, dnnl::algorithm::convolution_direct, any(x), any(w), any(y), stride,
                                         dilation, padLow, padHigh);
    return pickShortSums(
        dnnl::convolution_forward::primitive_desc(desc, DnnlBuilder::attributes(), DnnlBuilder::engine()));
  }

  // oneDNN 2.6 prefers convolutions by small matrix products (brgemm), which add all products of an output, channels
  // times kernel, in one chain of f32 additions. The direct ones add a chain for each block of channels: at 512
  // channels and a 3x3 kernel their error is 1.8e-7 of the result instead of 6.9e-7. Training needs the short chains,
  // for its errors grow from step to step; kernels of packed weights are those of inference (PackedStates.h), where the
  // preferred ones take three quarters of the time. In bf16 the products' own rounding is larger than that of the sums.
  template <typename Desc> Desc pickShortSums(const Desc &preferred) const {
    if (type != memory::data_type::f32 || packedWeights)
      return preferred;
    Desc desc = preferred;
    while (std::strncmp(desc.impl_info_str(), "brg", 3) == 0)
      if (!desc.next_impl())
        return preferred;
    return desc;
  }

  memory::data_type type;
  bool packedWeights;
  memory::dims x, y, w, stride, dilation, padLow, padHigh;
};

constexpr size_t kScratch = 3; // the fourth buffer of all three kernels

std::unique_ptr<HostKernel> buildForward(const DnnlConvolution &c, std::vector<size_t> bytes) {
  auto desc = c.forward(dnnl::prop_kind::forward_inference);
  DnnlBuilder builder(kScratch);
  if (c.packedWeights)
    bytes[1] = desc.weights_desc().get_size();
  auto weights =
      c.packedWeights ? builder.operand(1, desc.weights_desc()) : builder.input(1, c.plain(c.w), desc.weights_desc());
  DnnlArgs args = {{DNNL_ARG_SRC, builder.input(0, c.plain(c.x), desc.src_desc())},
                   {DNNL_ARG_WEIGHTS, weights},
                   {DNNL_ARG_DST, builder.output(2, c.plain(c.y), desc.dst_desc())}};
  builder.step(dnnl::convolution_forward(desc), args, desc.scratchpad_desc());
  return builder.finish(std::move(bytes));
}

// The weights that buildForward() wants.
std::unique_ptr<HostKernel> buildPack(const DnnlConvolution &c, std::vector<size_t> bytes) {
  auto wanted = c.forward(dnnl::prop_kind::forward_inference).weights_desc();
  DnnlBuilder builder(/*scratchBuffer=*/1);
  builder.repack(0, {{c.plain(c.w), 0, wanted, 0}});
  return builder.finish({std::max(bytes[1], wanted.get_size())});
}

std::unique_ptr<HostKernel> buildInputGrad(const DnnlConvolution &c, std::vector<size_t> bytes) {
  dnnl::convolution_backward_data::desc operation(dnnl::algorithm::convolution_direct, c.any(c.x), c.any(c.w),
                                                  c.any(c.y), c.stride, c.dilation, c.padLow, c.padHigh);
  dnnl::convolution_backward_data::primitive_desc desc(operation, DnnlBuilder::attributes(), DnnlBuilder::engine(),
                                                       c.forward(dnnl::prop_kind::forward_training));
  DnnlBuilder builder(kScratch);
  DnnlArgs args = {{DNNL_ARG_DIFF_DST, builder.input(0, c.plain(c.y), desc.diff_dst_desc())},
                   {DNNL_ARG_WEIGHTS, builder.input(1, c.plain(c.w), desc.weights_desc())},
                   {DNNL_ARG_DIFF_SRC, builder.output(2, c.plain(c.x), desc.diff_src_desc())}};
  builder.step(dnnl::convolution_backward_data(desc), args, desc.scratchpad_desc());
  return builder.finish(std::move(bytes));
}

std::unique_ptr<HostKernel> buildWeightGrad(const DnnlConvolution &c, std::vector<size_t> bytes) {
  dnnl::convolution_backward_weights::desc operation(dnnl::algorithm::convolution_direct, c.any(c.x), c.any(c.w),
                                                     c.any(c.y), c.stride, c.dilation, c.padLow, c.padHigh);
  dnnl::convolution_backward_weights::primitive_desc desc(operation, DnnlBuilder::attributes(), DnnlBuilder::engine(),
                                                          c.forward(dnnl::prop_kind::forward_training));
  DnnlBuilder builder(kScratch);
  DnnlArgs args = {{DNNL_ARG_SRC, builder.input(0, c.plain(c.x), desc.src_desc())},
                   {DNNL_ARG_DIFF_DST, builder.input(1, c.plain(c.y), desc.diff_dst_desc())},
                   {DNNL_ARG_DIFF_WEIGHTS, builder.output(2, c.plain(c.w), desc.diff_weights_desc())}};
  builder.step(dnnl::convolution_backward_weights(desc), args, desc.scratchpad_desc());
  return builder.finish(std::move(bytes));
}

using Build = std::unique_ptr<HostKernel> (*)(const DnnlConvolution &, std::vector<size_t>);

// Formats are those of oneDNN in a type that the processor has: elsewhere there is nothing to pack.
std::unique_ptr<HostKernel> makeNothing(const ConvolutionShape &s) {
  return DnnlBuilder(/*scratchBuffer=*/1).finish({s.wBytes()});
}

// Operands in the order of the kernel's buffers, the result last.
std::vector<size_t> operandBytes(ConvolutionKind kind, const ConvolutionShape &s) {
  switch (kind) {
  case ConvolutionKind::InputGrad:
    return {s.yBytes(), s.wBytes(), s.xBytes()};
  case ConvolutionKind::WeightGrad:
    return {s.xBytes(), s.yBytes(), s.wBytes()};
  default:
    return {s.xBytes(), s.wBytes(), s.yBytes()};
  }
}

Status makeDnnl(ConvolutionKind kind, const KernelArgs &args, const ConvolutionShape &s,
                std::unique_ptr<HostKernel> *result) {
  static const Build builds[] = {buildForward, buildInputGrad, buildWeightGrad, buildPack};
  CLEAVE_TRY(checkDnnlSizes({s.n, s.ic, s.oc, s.window.inSize(), s.window.outSize(), s.window.kernelSize()}));
  return guardDnnl([&] {
    *result = builds[static_cast<size_t>(kind)](DnnlConvolution(args, s), operandBytes(kind, s));
    return Status::ok();
  });
}

Status makeEmulated(ConvolutionKind kind, const KernelArgs &args, ConvolutionShape s, int threads,
                    std::unique_ptr<HostKernel> *result) {
  fb::DType stored = s.dtype;
  s.dtype = fb::DType::f32;
  s.packedWeights = false;
  std::unique_ptr<HostKernel> inner;
  CLEAVE_TRY(makeDnnl(kind, args, s, &inner));
  std::vector<ConvertedBuffer> buffers;
  for (size_t bytes : operandBytes(kind, s))
    buffers.push_back({stored, bytes / sizeof(float), true, false});
  buffers.back().read = false;
  buffers.back().written = true;
  *result = makeThroughFloat(std::move(inner), std::move(buffers), threads);
  return Status::ok();
}

Status make(ConvolutionKind kind, const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  ConvolutionShape s;
  CLEAVE_TRY(ConvolutionShape::read(args, &s));
  bool isHalf = s.dtype == fb::DType::bf16 || s.dtype == fb::DType::f16;
  if (s.dtype == fb::DType::f32 || (isHalf && hasNativeProducts(s.dtype)))
    return makeDnnl(kind, args, s, result);
  if (kind == ConvolutionKind::Pack) {
    *result = makeNothing(s);
    return Status::ok();
  }
  return isHalf ? makeEmulated(kind, args, s, threads, result)
                : makeReferenceConvolution(kind, s, threads, result);
}

} // namespace

Status makeConvolution(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  return make(ConvolutionKind::Forward, args, threads, result);
}
Status makeConvolutionPack(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  return make(ConvolutionKind::Pack, args, threads, result);
}
Status makeConvolutionInputGrad(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  return make(ConvolutionKind::InputGrad, args, threads, result);
}
Status makeConvolutionWeightGrad(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  return make(ConvolutionKind::WeightGrad, args, threads, result);
}

} // namespace cleave::rt

#include "kernels/convolution/host/Convolution.h"

#include "kernels/common/host/Dnnl.h"
#include "kernels/common/host/ThroughFloat.h"
#include "runtime/plan/OutsideMemory.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace cleave::rt {

// The most elements of a window. For much larger windows, oneDNN's choice of blocks does not end, or divides by zero.
static constexpr int64_t kMaxWindow = int64_t{1} << 24;

Status ConvolutionShape::read(const KernelArgs &args, ConvolutionShape *s) {
  s->dtype = args.dtype();
  s->n = args["n"];
  s->ic = args["ic"];
  s->oc = args["oc"];
  s->groups = args["groups"];
  if (args["packed_w"] < 0 || args["packed_w"] > 2)
    return invalidArgument("packed_w is " + std::to_string(args["packed_w"]) + "; expected 0, 1 or 2");
  s->packedWeights = args["packed_w"] != 0;
  s->halfVectors = args["packed_w"] == 2;
  s->channelsLast = args["channels_last"] != 0;
  CLEAVE_TRY(Window::read(args, &s->window));
  if (s->groups < 1 || s->ic % s->groups != 0 || s->oc % s->groups != 0)
    return invalidArgument(std::to_string(s->groups) + " groups do not divide " + std::to_string(s->ic) +
                           " input and " + std::to_string(s->oc) + " output channels");
  if (s->window.kernelSize() > kMaxWindow)
    return invalidArgument("its window has " + std::to_string(s->window.kernelSize()) + " elements; expected at most " +
                           std::to_string(kMaxWindow));
  CLEAVE_TRY(checkPositiveSizes({s->n, s->ic, s->window.inSize()}));
  CLEAVE_TRY(checkPositiveSizes({s->n, s->oc, s->window.outSize()}));
  return checkPositiveSizes({s->oc, s->ic / s->groups, s->window.kernelSize()});
}

namespace {

using dnnl::memory;

// Some or all channels of a plain tensor. Its channels, dimension 1, may be last in memory.
struct PlainTensor {
  PlainTensor() = default;
  PlainTensor(memory::data_type type, memory::dims sizes, bool channelsLast = false)
      : type(type), dims(std::move(sizes)), strides(dims.size(), 1) {
    int64_t stride = channelsLast ? dims[1] : 1;
    for (size_t i = dims.size() - 1; i > (channelsLast ? 1 : 0); --i) {
      strides[i] = stride;
      stride *= dims[i];
    }
    strides[0] = stride;
  }

  PlainTensor slice(size_t dim, int64_t first, int64_t count) const {
    PlainTensor result = *this;
    result.dims[dim] = count;
    result.skip += static_cast<size_t>(first * strides[dim]) * memory::data_type_size(type);
    return result;
  }
  memory::desc desc() const { return {dims, type, strides}; }
  memory::desc any() const { return {dims, type, memory::format_tag::any}; }

  memory::data_type type;
  memory::dims dims, strides;
  size_t skip = 0; // bytes of the buffer before the first element
};

// The parameters of a convolution for oneDNN, with the number of dimensions that the plan has.
struct DnnlConvolution {
  DnnlConvolution(const KernelArgs &args, const ConvolutionShape &s) {
    type = s.dtype == fb::DType::f32 ? memory::data_type::f32 : memory::data_type::bf16;
    packedWeights = s.packedWeights;
    halfVectors = s.halfVectors;
    isGrouped = s.groups > 1;
    hasBias = args.def().reader().findBuffer("bias").has_value();
    window = s.window.kernelSize();
    channelsLast =
        s.channelsLast || (halfVectors && s.window.inSize() == 1 && s.window.outSize() == 1); // the same bytes
    x = {type, concat({s.n, s.ic}, args.list("in")), channelsLast};
    y = {type, concat({s.n, s.oc}, args.list("out")), channelsLast};
    w = {type, concat(isGrouped ? memory::dims{s.groups, s.oc / s.groups, s.ic / s.groups} : memory::dims{s.oc, s.ic},
                      args.list("kernel"))};
    stride = args.list("stride");
    padLow = args.list("pad_low");
    padHigh = args.list("pad_high");
    for (int64_t d : args.list("dilation"))
      dilation.push_back(d - 1); // oneDNN counts the gaps
  }

  static memory::dims concat(memory::dims dims, const std::vector<int64_t> &values) {
    dims.insert(dims.end(), values.begin(), values.end());
    return dims;
  }

  // The convolutions whose results add up to the forward result. The sum over channels is divided among them.
  std::vector<DnnlConvolution> partsOfForward() const {
    return partsOf(x.dims[1], [](DnnlConvolution &part, int64_t first, int64_t count) {
      part.x = part.x.slice(1, first, count);
      part.w = part.w.slice(1, first, count);
    });
  }
  // The convolutions whose input gradients add up to the whole one.
  std::vector<DnnlConvolution> partsOfInputGrad() const {
    return partsOf(y.dims[1], [](DnnlConvolution &part, int64_t first, int64_t count) {
      part.y = part.y.slice(1, first, count);
      part.w = part.w.slice(0, first, count);
    });
  }
  template <typename Slice> std::vector<DnnlConvolution> partsOf(int64_t channels, Slice slice) const {
    if (DnnlBuilder::hasAvx512() || packedWeights || isGrouped || channels * window <= kLongestChain)
      return {*this};
    // Parts have equal size if possible, so that they share the library's code.
    auto divideUp = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    int64_t block = std::max<int64_t>(kPartOfChain / window / kBlockOfChannels, 1) * kBlockOfChannels;
    int64_t count = std::min(divideUp(channels, block), kMostPartsOfChain);
    int64_t most = divideUp(divideUp(channels, count), kBlockOfChannels) * kBlockOfChannels;
    std::vector<DnnlConvolution> parts;
    for (int64_t first = 0; first < channels; first += most)
      slice(parts.emplace_back(*this), first, std::min(most, channels - first));
    return parts;
  }

  dnnl::convolution_forward::primitive_desc forward(dnnl::prop_kind kind) const {
    // Plain tensors are never described as they are: with one channel, the library treats them as tensors with channels
    // last, and returns the kernel of the other form, which needs other scratch (ConvolutionScratchTest.cpp). A
    // description must live as long as the library is asked for its next kernel.
    Described plain = describe(kind, x.desc(), y.desc()), any = describe(kind, x.any(), y.any());
    if (auto number = channelsLast ? findAsTheyAre(plain) : std::nullopt)
      return pickShortSums(kernelOf(plain, *number));
    return pickShortSums(
        dnnl::convolution_forward::primitive_desc(any, DnnlBuilder::attributes(), DnnlBuilder::engine()));
  }

  using Described = dnnl::convolution_forward::desc;
  Described describe(dnnl::prop_kind kind, const memory::desc &from, const memory::desc &to) const {
    auto direct = dnnl::algorithm::convolution_direct;
    if (hasBias)
      return {kind, direct, from, w.any(), bias(), to, stride, dilation, padLow, padHigh};
    return {kind, direct, from, w.any(), to, stride, dilation, padLow, padHigh};
  }
  memory::desc bias() const { return {{y.dims[1]}, type, memory::format_tag::x}; }

  // The library's kernel with this number, in its order of preference. Empty after the last one.
  static dnnl::convolution_forward::primitive_desc kernelOf(const Described &described, int number) {
    dnnl::convolution_forward::primitive_desc desc(described, DnnlBuilder::attributes(), DnnlBuilder::engine(),
                                                   /*allow_empty=*/true);
    for (int i = 0; desc && i < number; ++i)
      if (!desc.next_impl())
        return {};
    return desc;
  }

  // Returns the number of a kernel that computes channels-last tensors in place; empty if none is compiled for the
  // shape. Only kernels with the instructions of the library's first choice are considered, and with halfVectors also
  // later ones with other instructions. Of these, it prefers a kernel that is fast for the shape (isSlow) and whose
  // weights need no more space than plain ones, because such weights are packed once and not at each launch
  // (PackedStates.h). The library's first choice fills blocks of up to 64 filters with zeros. Kernels with smaller
  // blocks are as fast.
  std::optional<int> findAsTheyAre(const Described &described) const {
    std::optional<int> found, slow;
    auto best = [&] { return found ? found : slow; };
    std::string instructions;
    for (int number = 0;; ++number) {
      auto desc = kernelOf(described, number);
      if (!desc || !isCompiled(desc))
        return best();
      if (number == 0)
        instructions = instructionsOf(desc);
      if (instructionsOf(desc) != instructions && (!halfVectors || isDepthwise()))
        return best();
      if (isSlow(desc)) {
        slow = slow ? slow : number;
        continue;
      }
      if (!found)
        found = number;
      if (isDepthwise() || desc.weights_desc().get_size() <= w.desc().get_size())
        return number;
    }
  }

  bool isDepthwise() const { return isGrouped && w.dims[1] == 1 && w.dims[2] == 1; }
  // True for convolutions by small matrix products that are slower than the library's direct kernels (Rationale.md):
  // those that multiply only diagonals, and those that read rows of a strided input in place.
  template <typename Desc> bool isSlow(const Desc &desc) const {
    const char *name = desc.impl_info_str();
    bool isStrided = window == 1 && std::any_of(stride.begin(), stride.end(), [](int64_t step) { return step > 1; });
    return std::strncmp(name, "br", 2) == 0 && (isDepthwise() || isStrided);
  }

  // Returns "avx512_core" for "jit_1x1:avx512_core".
  template <typename Desc> static std::string instructionsOf(const Desc &desc) {
    std::string name = desc.impl_info_str();
    return name.substr(name.find(':') + 1);
  }

  // True if the kernel's code is made for this convolution. False for plain loops, and for a product over copies of
  // windows.
  template <typename Desc> static bool isCompiled(const Desc &desc) {
    const char *name = desc.impl_info_str();
    return std::strncmp(name, "br", 2) == 0 || (std::strncmp(name, "jit", 3) == 0 && !std::strstr(name, "gemm"));
  }

  // oneDNN 2.6 prefers convolutions by small matrix products (brgemm), which add all products of an output (channels x
  // kernel) in one chain of f32 additions. The direct kernels add one chain for each block of channels: at 512 channels
  // and a 3x3 kernel, their error is 1.8e-7 of the result instead of 6.9e-7. Training needs the short chains, because
  // its errors grow from step to step. Kernels with packed weights are those of inference (PackedStates.h), where the
  // preferred kernels take three quarters of the time. In bf16, the rounding of the products is larger than that of the
  // sums.
  template <typename Desc> Desc pickShortSums(const Desc &preferred) const {
    if (type != memory::data_type::f32 || packedWeights)
      return preferred;
    Desc desc = preferred;
    while (std::strncmp(desc.impl_info_str(), "brg", 3) == 0)
      if (!desc.next_impl() || (channelsLast && !isCompiled(desc)))
        return preferred;
    return desc;
  }

  memory::data_type type;
  bool packedWeights, halfVectors, channelsLast, isGrouped, hasBias;
  int64_t window; // number of its elements
  PlainTensor x, y, w;
  memory::dims stride, dilation, padLow, padHigh;
};

constexpr size_t kScratch = 3; // the fourth buffer of all three kernels

// The result of the first part, or a result that is added to the earlier parts.
memory outputOf(DnnlBuilder &builder, const PlainTensor &result, const memory::desc &wanted, bool isFirst) {
  return isFirst ? builder.output(2, result.desc(), wanted) : builder.addedOutput(2, result.desc(), wanted);
}

std::unique_ptr<HostKernel> buildForward(const DnnlConvolution &c, std::vector<size_t> bytes) {
  DnnlBuilder builder(kScratch);
  bool isFirst = true;
  for (const DnnlConvolution &part : c.partsOfForward()) {
    auto desc = part.forward(dnnl::prop_kind::forward_inference);
    if (c.packedWeights)
      bytes[1] = desc.weights_desc().get_size();
    auto weights = c.packedWeights ? builder.operand(1, desc.weights_desc())
                                   : builder.input(1, part.w.desc(), desc.weights_desc(), part.w.skip);
    DnnlArgs args = {{DNNL_ARG_SRC, builder.input(0, part.x.desc(), desc.src_desc(), part.x.skip)},
                     {DNNL_ARG_WEIGHTS, weights},
                     {DNNL_ARG_DST, outputOf(builder, part.y, desc.dst_desc(), isFirst)}};
    builder.call(dnnl::convolution_forward(desc), args, desc.scratchpad_desc());
    builder.freeScratch();
    isFirst = false;
  }
  return builder.finish(std::move(bytes));
}

// Computes all channels at once, because the bias is added to the whole sum.
std::unique_ptr<HostKernel> buildBias(const DnnlConvolution &c, std::vector<size_t> bytes) {
  DnnlBuilder builder(/*scratchBuffer=*/4);
  auto desc = c.forward(dnnl::prop_kind::forward_inference);
  if (c.packedWeights)
    bytes[1] = desc.weights_desc().get_size();
  auto weights =
      c.packedWeights ? builder.operand(1, desc.weights_desc()) : builder.input(1, c.w.desc(), desc.weights_desc());
  DnnlArgs args = {{DNNL_ARG_SRC, builder.input(0, c.x.desc(), desc.src_desc())},
                   {DNNL_ARG_WEIGHTS, weights},
                   {DNNL_ARG_BIAS, builder.operand(2, desc.bias_desc())},
                   {DNNL_ARG_DST, builder.output(3, c.y.desc(), desc.dst_desc())}};
  builder.call(dnnl::convolution_forward(desc), args, desc.scratchpad_desc());
  return builder.finish(std::move(bytes));
}

// Packs the weights into the format that buildForward() and buildBias() read.
std::unique_ptr<HostKernel> buildPack(const DnnlConvolution &c, std::vector<size_t> bytes) {
  auto wanted = c.forward(dnnl::prop_kind::forward_inference).weights_desc();
  DnnlBuilder builder(/*scratchBuffer=*/1);
  builder.repack(0, {{c.w.desc(), 0, wanted, 0}});
  return builder.finish({std::max(bytes[1], wanted.get_size())});
}

std::unique_ptr<HostKernel> buildInputGrad(const DnnlConvolution &c, std::vector<size_t> bytes) {
  DnnlBuilder builder(kScratch);
  bool isFirst = true;
  for (const DnnlConvolution &part : c.partsOfInputGrad()) {
    dnnl::convolution_backward_data::desc operation(dnnl::algorithm::convolution_direct, part.x.any(), part.w.any(),
                                                    part.y.any(), c.stride, c.dilation, c.padLow, c.padHigh);
    dnnl::convolution_backward_data::primitive_desc desc(operation, DnnlBuilder::attributes(), DnnlBuilder::engine(),
                                                         part.forward(dnnl::prop_kind::forward_training));
    DnnlArgs args = {{DNNL_ARG_DIFF_DST, builder.input(0, part.y.desc(), desc.diff_dst_desc(), part.y.skip)},
                     {DNNL_ARG_WEIGHTS, builder.input(1, part.w.desc(), desc.weights_desc(), part.w.skip)},
                     {DNNL_ARG_DIFF_SRC, outputOf(builder, part.x, desc.diff_src_desc(), isFirst)}};
    builder.call(dnnl::convolution_backward_data(desc), args, desc.scratchpad_desc());
    builder.freeScratch();
    isFirst = false;
  }
  return builder.finish(std::move(bytes));
}

std::unique_ptr<HostKernel> buildWeightGrad(const DnnlConvolution &c, std::vector<size_t> bytes) {
  dnnl::convolution_backward_weights::desc operation(dnnl::algorithm::convolution_direct, c.x.any(), c.w.any(),
                                                     c.y.any(), c.stride, c.dilation, c.padLow, c.padHigh);
  dnnl::convolution_backward_weights::primitive_desc desc(operation, DnnlBuilder::attributes(), DnnlBuilder::engine(),
                                                          c.forward(dnnl::prop_kind::forward_training));
  DnnlBuilder builder(kScratch);
  DnnlArgs args = {{DNNL_ARG_SRC, builder.input(0, c.x.desc(), desc.src_desc())},
                   {DNNL_ARG_DIFF_DST, builder.input(1, c.y.desc(), desc.diff_dst_desc())},
                   {DNNL_ARG_DIFF_WEIGHTS, builder.output(2, c.w.desc(), desc.diff_weights_desc())}};
  builder.call(dnnl::convolution_backward_weights(desc), args, desc.scratchpad_desc());
  return builder.finish(std::move(bytes));
}

using Build = std::unique_ptr<HostKernel> (*)(const DnnlConvolution &, std::vector<size_t>);

// For types that are not computed by oneDNN itself: their weights stay plain, so there is nothing to pack.
std::unique_ptr<HostKernel> makeNothing(const ConvolutionShape &s) {
  return DnnlBuilder(/*scratchBuffer=*/1).finish({s.wBytes()});
}

// The bytes of operands in the order of the kernel's buffers, the result last.
std::vector<size_t> operandBytes(ConvolutionKind kind, const ConvolutionShape &s) {
  switch (kind) {
  case ConvolutionKind::InputGrad:
    return {s.yBytes(), s.wBytes(), s.xBytes()};
  case ConvolutionKind::WeightGrad:
    return {s.xBytes(), s.yBytes(), s.wBytes()};
  case ConvolutionKind::Bias:
    return {s.xBytes(), s.wBytes(), static_cast<size_t>(s.oc) * dtypeSize(s.dtype), s.yBytes()};
  default:
    return {s.xBytes(), s.wBytes(), s.yBytes()};
  }
}

Status makeDnnl(ConvolutionKind kind, const KernelArgs &args, const ConvolutionShape &s,
                std::unique_ptr<HostKernel> *result) {
  static const Build builds[] = {buildForward, buildInputGrad, buildWeightGrad, buildPack, buildBias, buildPack};
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
  return isHalf ? makeEmulated(kind, args, s, threads, result) : makeReferenceConvolution(kind, s, threads, result);
}

} // namespace

Status makeConvolution(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  return make(ConvolutionKind::Forward, args, threads, result);
}
Status makeConvolutionPack(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  return make(ConvolutionKind::Pack, args, threads, result);
}

static Status makeBias(ConvolutionKind kind, const KernelArgs &args, std::unique_ptr<HostKernel> *result) {
  ConvolutionShape s;
  CLEAVE_TRY(ConvolutionShape::read(args, &s));
  if (s.dtype != fb::DType::f32 || !s.channelsLast)
    return invalidArgument(std::string(args.def().name) + " is for f32 and tensors with channels last");
  return makeDnnl(kind, args, s, result);
}
Status makeConvolutionBias(const KernelArgs &args, int, std::unique_ptr<HostKernel> *result) {
  return makeBias(ConvolutionKind::Bias, args, result);
}
Status makeConvolutionBiasPack(const KernelArgs &args, int, std::unique_ptr<HostKernel> *result) {
  return makeBias(ConvolutionKind::BiasPack, args, result);
}
Status makeConvolutionInputGrad(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  return make(ConvolutionKind::InputGrad, args, threads, result);
}
Status makeConvolutionWeightGrad(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  return make(ConvolutionKind::WeightGrad, args, threads, result);
}

} // namespace cleave::rt

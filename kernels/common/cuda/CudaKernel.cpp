#include "kernels/common/cuda/CudaKernel.h"

#include "kernels/attention/host/Attention.h"
#include "kernels/common/host/Window.h"
#include "kernels/convolution/cuda/DnnConvolution.h"
#include "kernels/indexing/NumberRange.h"

#include <algorithm>

namespace cleave::rt {

namespace {

using Describe = Status (*)(const KernelArgs &args, CudaKernelCall *call);

bool isFloat(fb::DType type) {
  return type == fb::DType::f32 || type == fb::DType::f64 || type == fb::DType::f16 || type == fb::DType::bf16;
}

// The element types for which kernels exist that compare or combine elements: those of withNumber on the host.
bool isNumber(fb::DType type) {
  return isFloat(type) || type == fb::DType::i64 || type == fb::DType::i32 || type == fb::DType::i16 ||
         type == fb::DType::i8;
}

std::string nameOf(fb::DType type) { return fb::EnumNameDType(type); }

Status wrongType(const KernelArgs &args, fb::DType type) {
  return invalidArgument("the cuda target has no kernel '" + std::string(args.def().name) + "' for elements of type " +
                         nameOf(type) + " yet; compile for the host");
}

void setItems(CudaKernelCall *call, int64_t threads) {
  call->blocks = static_cast<uint64_t>((threads + CudaKernelCall::kBlockSize - 1) / CudaKernelCall::kBlockSize);
}

void setWindow(const Window &window, long long *params) {
  const Window::Dims *all[] = {&window.in,       &window.out,    &window.kernel, &window.stride,
                               &window.dilation, &window.padLow, &window.padHigh};
  for (const Window::Dims *dims : all)
    params = std::copy(dims->begin(), dims->end(), params);
}

// put_add: divides rows into classes and each row into slices, to get about three blocks for each multiprocessor of a
// large GPU. A class should have enough indices for its blocks, and its rows must be numbered in 32 bits.
void shareAdditions(const KernelArgs &args, CudaKernelCall *call) {
  constexpr int64_t kBlocks = 400, kSliceBytes = PutAddWork::kSliceBytes, kLeast = 32;
  int64_t rowBytes = args["inner"] * static_cast<int64_t>(dtypeSize(args.dtype()));
  int64_t slices = args["outer"] * ((rowBytes + kSliceBytes - 1) / kSliceBytes);
  int64_t each = (slices + kBlocks - 1) / kBlocks; // slices of a block
  int64_t groups = each == 0 ? 0 : (slices + each - 1) / each, shift = 0;
  while (shift < 16 && ((groups << (shift + 1) <= kBlocks && args["indices"] >> (shift + 1) >= kLeast) ||
                        (args["rows"] - 1) >> shift > UINT32_MAX))
    ++shift;
  call->params[5] = shift, call->params[6] = groups;
  call->params[7] = static_cast<long long>(dtypeSize(args.dtype("index_dtype")));
  call->blocks = static_cast<uint64_t>(groups << shift);
}

Status describeIndexing(const KernelArgs &args, CudaKernelCall *call) {
  std::string_view name = args.def().name;
  fb::DType type = args.dtype(), index = args.dtype("index_dtype");
  bool isPut = name == "put" || name == "put_add";
  bool sorts = name == "put_add" && isFloat(type); // `put` adds integers, as it combines all others
  int64_t combine = !isPut ? -1 : name == "put_add" ? 0 : args["combine"];
  bool moves = combine == -1;
  if (index != fb::DType::i32 && index != fb::DType::i64)
    return wrongType(args, index);
  if (!moves && !isNumber(type))
    return wrongType(args, type);
  std::string function = sorts ? "put_add" : !isPut ? "take" : moves ? "put_set" : "put";
  call->function = function + "_" + (moves ? std::to_string(dtypeSize(type)) : nameOf(type));
  call->function += sorts ? "" : "_" + nameOf(index);
  int64_t batch = name == "pick" || name == "put" ? args["batch"] : 1;
  int64_t params[] = {batch, args["outer"], args["rows"], args["inner"], args["indices"]};
  std::copy(std::begin(params), std::end(params), call->params);
  if (isPut && !sorts)
    call->params[5] = combine;
  int64_t rowBytes = args["inner"] * static_cast<int64_t>(dtypeSize(type));
  if (sorts)
    shareAdditions(args, call);
  else if (isPut)
    setItems(call, batch * args["outer"] * args["inner"]);
  else // each thread moves 16 bytes if the row permits it
    setItems(call, batch * args["outer"] * args["indices"] * (rowBytes % 16 == 0 ? rowBytes / 16 : args["inner"]));
  if (isPut)
    call->source = 0, call->target = 3;
  call->expected = NumberRange::of(args).describe();
  return Status::ok();
}

Status describeCheckIndex(const KernelArgs &args, CudaKernelCall *call) {
  if (args.dtype() != fb::DType::i32 && args.dtype() != fb::DType::i64)
    return wrongType(args, args.dtype());
  call->function = "check_index_" + nameOf(args.dtype());
  const char *params[] = {"count", "first", "end", "other"};
  for (int i = 0; i < 4; ++i)
    call->params[i] = args[params[i]];
  call->expected = NumberRange::of(args).describe();
  setItems(call, args["count"]);
  return Status::ok();
}

Status describeArgmax(const KernelArgs &args, CudaKernelCall *call) {
  if (!isNumber(args.dtype()))
    return wrongType(args, args.dtype());
  call->function = "argmax_" + nameOf(args.dtype());
  call->params[0] = args["outer"], call->params[1] = args["extent"], call->params[2] = args["inner"];
  setItems(call, args["outer"] * args["inner"]);
  return Status::ok();
}

Status describeTopK(const KernelArgs &args, CudaKernelCall *call) {
  fb::DType type = args.dtype();
  if (!isNumber(type))
    return wrongType(args, type);
  if (args["count"] < 1 || args["count"] > args["extent"])
    return invalidArgument("expected a count between 1 and " + std::to_string(args["extent"]) +
                           "; got: " + std::to_string(args["count"]));
  call->function = "top_k_" + nameOf(type);
  const char *params[] = {"outer", "extent", "count", "smallest"};
  for (int i = 0; i < 4; ++i)
    call->params[i] = args[params[i]];
  call->blocks = static_cast<uint64_t>(args["outer"]);
  return Status::ok();
}

// Describes what pools and convolutions have in common. The compiler uses channels-last tensors only for the host's
// kernels.
Status describeWindowed(const KernelArgs &args, Window *window, CudaKernelCall *call) {
  if (!isFloat(args.dtype()))
    return wrongType(args, args.dtype());
  if (args["channels_last"] != 0)
    return invalidArgument("the cuda target has no " + std::string(args.def().name) +
                           " of tensors whose channels are last");
  call->function = std::string(args.def().name) + "_" + nameOf(args.dtype());
  return Window::read(args, window);
}

Status checkPool(const Window &window) {
  constexpr int64_t kMost = PoolWork::kMost;
  bool fits = window.inSize() <= kMost && window.outSize() <= kMost;
  for (int dim = 0; dim < 3; ++dim)
    fits &= window.in[dim] + window.padLow[dim] + window.padHigh[dim] <= kMost && window.stride[dim] <= kMost &&
            window.kernel[dim] <= kMost && window.dilation[dim] <= kMost &&
            window.kernel[dim] * window.dilation[dim] <= kMost;
  return fits ? Status::ok()
              : invalidArgument("a pool of the cuda target takes planes, pads, strides and windows of at most " +
                                std::to_string(kMost) + " positions; compile the model for the host");
}

Status describePool(const KernelArgs &args, CudaKernelCall *call) {
  Window window;
  CLEAVE_TRY(describeWindowed(args, &window, call));
  CLEAVE_TRY(checkPool(window));
  std::string_view name = args.def().name;
  call->params[0] = args["n"] * args["c"];
  call->params[1] = name.rfind("avg", 0) == 0 ? args["count_pad"] : 0;
  setWindow(window, call->params + 2);
  bool isGradient = name.find("grad") != std::string_view::npos;
  setItems(call, call->params[0] * (isGradient ? window.inSize() : window.outSize()));
  return Status::ok();
}

Status describeConvolution(const KernelArgs &args, CudaKernelCall *call) {
  Window window;
  CLEAVE_TRY(describeWindowed(args, &window, call));
  std::string_view name = args.def().name;
  int64_t n = args["n"], ic = args["ic"], oc = args["oc"], groups = args["groups"];
  if (groups < 1 || ic % groups != 0 || oc % groups != 0)
    return invalidArgument("expected groups that divide the channels; got: " + std::to_string(groups) + " groups of " + std::to_string(ic) +
                           " and " + std::to_string(oc) + " channels");
  call->params[0] = n, call->params[1] = ic, call->params[2] = oc, call->params[3] = groups;
  setWindow(window, call->params + 4);
  if (name == "convolution_weight_grad")
    call->blocks = static_cast<uint64_t>(oc * ic / groups * window.kernelSize());
  else
    setItems(call, n * (name == "convolution" ? oc * window.outSize() : ic * window.inSize()));
  return Status::ok();
}

// In f32, tiles have kTile rows; those of the gradient have kGradTile rows or columns. In 16 bits, matrix instructions
// are used, with tiles of kMmaLines rows. There are kernels for heads of at most kSmallSize elements, and for larger
// heads.
Status describeAttention(const KernelArgs &args, CudaKernelCall *call) {
  using Work = AttentionWork;
  bool isNarrow = args.dtype() != fb::DType::f32;
  if (!isFloat(args.dtype()) || args.dtype() == fb::DType::f64)
    return wrongType(args, args.dtype());
  AttentionShape shape;
  CLEAVE_TRY(AttentionShape::read(args, &shape));
  for (const char *size : {"depth", "width"})
    if (args[size] < 1 || args[size] > Work::kMostSize)
      return invalidArgument("the cuda target has attention for heads of 1 to " + std::to_string(Work::kMostSize) +
                             " elements; got: " + std::to_string(args[size]) + "; compile with --attention plain");
  for (const char *size : {"rows", "columns"})
    if (args[size] < 1 || args[size] > INT32_MAX - 256)
      return invalidArgument(std::string("attention of ") + std::to_string(args[size]) + " " + size +
                             " is more than the cuda target has");
  bool isGradient = args.def().findBuffer("dy").has_value();
  bool isSmall = args["depth"] <= Work::kSmallSize && args["width"] <= Work::kSmallSize;
  call->function = std::string("attention") + (shape.hasDropout ? "_dropout" : "") + (isGradient ? "_grad_" : "_") +
                   nameOf(args.dtype()) + (!isNarrow ? "" : isSmall ? "_64" : "_128");
  call->image = shape.hasDropout ? cudaAttentionDropoutImage : cudaAttentionImage;
  const char *params[] = {"batch", "heads", "rows", "columns", "depth", "width", "causal", "scale", "fill"};
  for (int i = 0; i < 9; ++i)
    call->params[i] = args[params[i]];
  bool hasMask = args.def().findBuffer("mask").has_value();
  call->params[Work::kMaskKind] = !hasMask                                         ? Work::kNone
                                  : args.dtype("mask_dtype") == fb::DType::boolean ? Work::kKept
                                                                                   : Work::kAdded;
  const char *sizes[] = {"mask_batch", "mask_heads", "mask_rows", "mask_columns"};
  for (int i = 0; i < 4; ++i)
    call->params[Work::kMaskSizes + i] = args[sizes[i]];
  call->params[Work::kRate] = args["rate"];
  int64_t tile = isNarrow ? Work::kMmaLines : isGradient ? Work::kGradTile : Work::kTile;
  int64_t tiles = (args["rows"] + tile - 1) / tile + (isGradient ? (args["columns"] + tile - 1) / tile : 0);
  call->blocks = static_cast<uint64_t>(args["batch"] * args["heads"] * tiles);
  return Status::ok();
}

struct Entry {
  std::string_view name;
  Describe describe; // null: cuBLASLt computes it
};

constexpr Entry kEntries[] = {
    {"matmul", nullptr},
    {"matmul_bias", nullptr},
    {"matmul_bias_grad", nullptr},
    {"matmul_bias_grad_a", nullptr},
    {"convolution", describeConvolution},
    {"convolution_input_grad", describeConvolution},
    {"convolution_weight_grad", describeConvolution},
    {"max_pool", describePool},
    {"max_pool_grad", describePool},
    {"avg_pool", describePool},
    {"avg_pool_grad", describePool},
    {"take", describeIndexing},
    {"pick", describeIndexing},
    {"put_add", describeIndexing},
    {"put", describeIndexing},
    {"check_index", describeCheckIndex},
    {"argmax", describeArgmax},
    {"top_k", describeTopK},
    {"attention", describeAttention},
    {"attention_masked", describeAttention},
    {"attention_grad", describeAttention},
    {"attention_masked_grad", describeAttention},
    {"attention_dropout", describeAttention},
    {"attention_masked_dropout", describeAttention},
    {"attention_dropout_grad", describeAttention},
    {"attention_masked_dropout_grad", describeAttention},
};

const Entry *find(std::string_view name) {
  for (const Entry &entry : kEntries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

Status checkMatmul(const KernelArgs &args) {
  fb::DType type = args.dtype(), out = args.dtype("out_dtype");
  // cuBLASLt has no epilogues in f64.
  bool hasEpilogue = args.def().findBuffer("bias") || args.def().findBuffer("bias_grad");
  if (!isFloat(type) || (type == fb::DType::f64 && hasEpilogue))
    return wrongType(args, type);
  if (out == type || (out == fb::DType::f32 && type != fb::DType::f64))
    return Status::ok();
  return wrongType(args, out);
}

Status missingImage(std::string_view name) {
  return invalidArgument("kernel '" + std::string(name) +
                         "' is not in this build of Cleave, which was made without "
                         "a CUDA compiler (nvcc); build it where CUDA is installed, or compile for the host");
}

} // namespace

bool isProduct(const KernelDef &def) {
  const Entry *entry = find(def.name);
  return entry && !entry->describe;
}

Status cudaColumnSums(const KernelArgs &args, CudaKernelCall *call) {
  constexpr int64_t kColumns = ColumnSumsWork::kColumns;
  bool isOfA = args.def().name == "matmul_bias_grad_a";
  int64_t columns = args[isOfA ? "m" : "n"];
  call->image = cudaKernelImage;
  if (*(call->image()) == 0)
    return missingImage("column_sums");
  call->function = "column_sums_" + nameOf(args.dtype());
  call->params[0] = args["k"], call->params[1] = columns;
  call->params[2] = args.dtype("out_dtype") != args.dtype();
  call->blocks = static_cast<uint64_t>((columns + kColumns - 1) / kColumns);
  call->source = isOfA ? 0 : 1;
  call->target = static_cast<int>(*args.def().findBuffer("bias_grad"));
  return Status::ok();
}

Status cudaKernelArgs(std::string_view name, const std::vector<int64_t> &params, KernelArgs *args) {
  const KernelDef *def = findKernelDef(name);
  const Entry *entry = find(name);
  if (!def || !entry)
    return invalidArgument("the cuda target has no kernel '" + std::string(name) + "' yet; compile for the host");
  CLEAVE_TRY(KernelArgs::read(*def, params, args));
  if (!entry->describe)
    return checkMatmul(*args);
  CudaKernelCall call;
  CLEAVE_TRY(cudaKernelCall(*args, &call));
  if (*(call.image()) == 0)
    return missingImage(name);
  return Status::ok();
}

Status cudaScratchBytes(const KernelArgs &args, uint64_t *bytes) {
  *bytes = 0;
  const Entry *entry = find(args.def().name);
  if (!entry || !args.def().hasScratch())
    return Status::ok();
  if (entry->describe) {
    if (std::optional<DnnConvolution> convolution = DnnConvolution::of(args))
      *bytes = convolution->workspaceBytes(dtypeSize(args.dtype()));
  } else { // for cuBLASLt, to split long sums and to stage results; more helps large products little
    constexpr uint64_t kMost = 32 << 20;
    uint64_t batch = static_cast<uint64_t>(std::max<int64_t>(args["batch"], 1)); // 1 if the kernel has no batch
    uint64_t result = batch * static_cast<uint64_t>(args["m"]) * static_cast<uint64_t>(args["n"]) * 8;
    *bytes = std::min(kMost, (result * 4 + 255) / 256 * 256);
    // A bias at an address that cuBLASLt cannot read is copied to the end of it (CudaMatmul.cpp).
    uint64_t bias = static_cast<uint64_t>(args["n"]) * dtypeSize(args.dtype("out_dtype"));
    if (args.def().findBuffer("bias"))
      *bytes = std::max(*bytes, (bias + 255) / 256 * 256);
  }
  *bytes += *bytes ? kWorkspaceAlignment - kScratchAlignment : 0;
  return Status::ok();
}

Status cudaKernelCall(const KernelArgs &args, CudaKernelCall *call) {
  const Entry *entry = find(args.def().name);
  if (!entry || !entry->describe)
    return internal("'" + std::string(args.def().name) + "' is not a hand-written kernel");
  call->image = cudaKernelImage; // unless the family sets another one
  return entry->describe(args, call);
}

} // namespace cleave::rt

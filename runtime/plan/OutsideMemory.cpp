#include "runtime/plan/OutsideMemory.h"

#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/TargetFamily.h"

#include <algorithm>

namespace cleave::rt {

namespace {

constexpr uint64_t kBase = 16 << 20;
// The base of a convolution of single elements, or of a gradient of weights (kPoint), and of any other convolution
// (kWindow). The others also need kPlace for each position of a row. A forward one also needs kDescriptor for each
// descriptor above the number of those positions.
constexpr uint64_t kPoint = 144 << 10, kWindow = 152 << 10, kPlace = 6 << 10;
constexpr uint64_t kDescriptor = 4 << 10, kBlockOfRow = 16;
// A product, by how many of its sizes n and k are not multiples of kBlock: none, one, or both.
constexpr uint64_t kProduct[] = {144 << 10, 288 << 10, 480 << 10};
constexpr uint64_t kProductInParts[] = {512 << 10, 1024 << 10, 1152 << 10};
// The same in bf16, and for products in f16; kNarrowGrad is the base of a convolution's gradients. In bf16 the library
// generates code for the tiles of AMX: for each remainder of rows, too, and for positions of a row in blocks. It takes
// up to 56 KiB for a position, and most kernels need far less.
constexpr uint64_t kNarrowWindow = 1 << 20, kNarrowPlace = 64 << 10;
constexpr uint64_t kNarrowGrad = 320 << 10, kNarrowGradPlace = 2 << 10;
constexpr uint64_t kNarrowProduct[] = {1024 << 10, 1536 << 10, 5 << 20};
constexpr uint64_t kNarrowProductInParts[] = {5 << 20, 5 << 20, 6 << 20};
constexpr int64_t kBlock = 16;
constexpr uint64_t kReorder = 48 << 10, kReorderInParts = 112 << 10; // a kernel that packs weights
constexpr uint64_t kPart = 8 << 10, kPartsCounted = 12;              // objects of each part of a sum after the first 12
constexpr uint64_t kConvolutionInParts = 192 << 10;                  // code for the last part and for the additions
constexpr uint64_t kReference = 8 << 10;                             // kernels of Cleave: no code is generated for them
constexpr uint64_t kGenerated = 4 << 10; // machine code; 1.5 KiB on average where it was measured
constexpr uint64_t kInstruction = 1 << 10;

// The number of different parts of a window that padding leaves along a dimension.
uint64_t partsOf(const KernelArgs &args, size_t dim) {
  constexpr int64_t kMost = int64_t{1} << 30;
  int64_t kernel = args.list("kernel")[dim], step = std::clamp<int64_t>(args.list("dilation")[dim], 1, kMost);
  int64_t pad = std::max(args.list("pad_low")[dim], args.list("pad_high")[dim]);
  pad = std::clamp<int64_t>(pad, 0, kMost);
  return static_cast<uint64_t>(std::clamp<int64_t>(1 + (pad + step - 1) / step, 1, std::max<int64_t>(kernel, 1)));
}

bool isForward(const KernelArgs &args) {
  return args.def().name == "convolution" || args.def().name == "convolution_bias";
}

// For windows, oneDNN generates code for positions of a row, in the worst case for all of them. The forward convolution
// also has descriptors: one for each position in a block of the row, times each part that padding leaves of the window.
// There are as many as the row has positions, or more if a short row meets many parts.
uint64_t convolutionBytes(const KernelArgs &args) {
  const std::vector<int64_t> &kernel = args.list("kernel"), &stride = args.list("stride");
  auto isOne = [](int64_t size) { return size == 1; };
  bool isPoint = std::all_of(kernel.begin(), kernel.end(), isOne) && std::all_of(stride.begin(), stride.end(), isOne);
  // The library's code for windows also computes channels that do not fill one block.
  bool isThin = args["groups"] == 1 && std::min(args["ic"], args["oc"]) < kBlock;
  bool isNarrow = args.dtype() == fb::DType::bf16, isNarrowForward = isNarrow && isForward(args);
  const std::vector<int64_t> &sizes = args.list(isForward(args) ? "out" : "in");
  uint64_t row = sizes.empty() ? 0 : static_cast<uint64_t>(sizes.back()), parts = 1;
  if (args.def().name == "convolution_weight_grad")
    return isNarrow ? kNarrowGrad + kNarrowGradPlace * row : kPoint;
  if (isPoint && !isThin)
    return isNarrowForward ? kNarrowWindow : isNarrow ? kNarrowGrad : kPoint;
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    parts *= partsOf(args, dim);
  uint64_t bytes =
      isNarrowForward ? kNarrowWindow + kNarrowPlace * row : (isNarrow ? kNarrowGrad : kWindow) + kPlace * row;
  uint64_t descriptors = std::min(row, kBlockOfRow) * parts;
  return bytes + (isForward(args) && descriptors > row ? kDescriptor * (descriptors - row) : 0);
}

// For a sum over channels that is computed in parts: the code for the last part and for the additions, and the objects
// of each part.
uint64_t convolutionPartsBytes(const KernelArgs &args) {
  bool isGrad = args.def().name == "convolution_input_grad";
  const std::vector<int64_t> &kernel = args.list("kernel");
  int64_t channels = isForward(args) ? args["ic"] : args["oc"], window = 1;
  for (int64_t size : kernel)
    window *= size;
  if (!(isForward(args) || isGrad) || args["groups"] > 1 || channels * window <= kLongestChain)
    return 0;
  return kConvolutionInParts + kPart * static_cast<uint64_t>(std::min(channels / kBlockOfChannels, kMostPartsOfChain));
}

uint64_t furtherParts(const KernelArgs &args) {
  int64_t parts = std::min(kMostParts, args["k"] / kPartOfSum);
  return kPart * (std::max<uint64_t>(static_cast<uint64_t>(parts), kPartsCounted) - kPartsCounted);
}

// Each combination of whole blocks and remainders has its own code.
uint64_t productBytes(const KernelArgs &args) {
  int rests = (args["n"] % kBlock != 0) + (args["k"] % kBlock != 0);
  bool isNarrow = args.dtype() == fb::DType::bf16 || args.dtype() == fb::DType::f16;
  if (args["k"] > kLongestSum)
    return (isNarrow ? kNarrowProductInParts : kProductInParts)[rests] + furtherParts(args);
  return (isNarrow ? kNarrowProduct : kProduct)[rests];
}

} // namespace

uint64_t libraryKernelBytes(const KernelArgs &args, bool hasAvx512) {
  if (args.def().kind != fb::KernelKind::library)
    return 0;
  if (args.dtype() == fb::DType::f64)
    return kReference;
  bool isProduct = args.def().reader().work == KernelWork::Product, packs = args.def().packsFor;
  if (isProduct && !hasAvx512)
    return packs ? kReorderInParts : kReference;
  if (packs)
    return isProduct && args["k"] > kLongestSum ? kReorderInParts + furtherParts(args) : kReorder;
  if (isProduct)
    return productBytes(args);
  return convolutionBytes(args) + (hasAvx512 ? 0 : convolutionPartsBytes(args));
}

// Whether the target's processor has AVX-512. "host" is the processor that runs this.
static bool hasAvx512(std::string_view target) {
#if defined(__x86_64__)
  if (target == "host")
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#endif
  return target == "host:avx512";
}

static uint64_t libraryKernelBytes(const fb::Kernel &kernel, bool hasAvx512) {
  const KernelDef *def = findKernelDef(kernel.name()->string_view());
  KernelArgs args;
  bool isKnown =
      def && kernel.params() && KernelArgs::read(*def, kernel.params()->data(), kernel.params()->size(), &args).isOk();
  return isKnown ? libraryKernelBytes(args, hasAvx512) : 0;
}

OutsideMemory outsideMemory(const fb::Plan &plan) {
  OutsideMemory outside;
  if (targetFamily(textOf(plan.target())) != "host")
    return outside;
  outside.base = kBase;
  for (size_t i = 0; i < lengthOf(plan.kernels()); ++i) {
    const fb::Kernel &kernel = *plan.kernels()->Get(i);
    outside.library += libraryKernelBytes(kernel, hasAvx512(textOf(plan.target())));
    outside.generated += kernel.kind() == fb::KernelKind::generated ? kGenerated : 0;
  }
  for (size_t i = 0; i < lengthOf(plan.programs()); ++i)
    outside.instructions += kInstruction * lengthOf(plan.programs()->Get(i)->instructions());
  return outside;
}

} // namespace cleave::rt

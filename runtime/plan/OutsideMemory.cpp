#include "runtime/plan/OutsideMemory.h"

#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/PlanReader.h"

#include <algorithm>

namespace cleave::rt {

namespace {

constexpr uint64_t kBase = 16 << 20;
// A convolution of single elements, or the gradient of weights; another one, with so much more for each place of a row.
constexpr uint64_t kPoint = 144 << 10, kWindow = 152 << 10, kPlace = 6 << 10;
constexpr uint64_t kNarrowWindow = 224 << 10, kNarrowPlace = 8 << 10; // the same of bf16, forward
// A product, by how many of its columns and terms are no whole blocks.
constexpr uint64_t kProduct[] = {144 << 10, 240 << 10, 480 << 10};
constexpr uint64_t kProductInParts[] = {512 << 10, 768 << 10, 1152 << 10};
constexpr int64_t kBlock = 16;
constexpr uint64_t kReorder = 48 << 10, kReorderInParts = 112 << 10; // a kernel that packs weights
constexpr uint64_t kReference = 8 << 10;                             // ours: no code is made for it
constexpr uint64_t kGenerated = 4 << 10; // machine code; 1.5 KiB on average where it was measured
constexpr uint64_t kInstruction = 1 << 10;

bool startsWith(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

// Of a window, code is made and descriptors are kept for each place of a row where padding may cut it otherwise: at
// worst for all. Of bf16, again for windows that are cut along other dimensions.
uint64_t convolutionBytes(const KernelArgs &args) {
  const std::vector<int64_t> &kernel = args.list("kernel"), &stride = args.list("stride");
  auto isOne = [](int64_t size) { return size == 1; };
  bool isPoint = std::all_of(kernel.begin(), kernel.end(), isOne) && std::all_of(stride.begin(), stride.end(), isOne);
  if (isPoint || startsWith(args.def().name, "convolution_weight_grad"))
    return kPoint;
  bool isForward = args.def().name == "convolution";
  const std::vector<int64_t> &sizes = args.list(isForward ? "out" : "in");
  uint64_t row = sizes.empty() ? 0 : static_cast<uint64_t>(sizes.back());
  bool isNarrow = isForward && args.dtype() == fb::DType::bf16;
  return isNarrow ? kNarrowWindow + kNarrowPlace * row : kWindow + kPlace * row;
}

// Each combination of whole blocks and rests has code of its own.
uint64_t productBytes(const KernelArgs &args) {
  int rests = (args["n"] % kBlock != 0) + (args["k"] % kBlock != 0);
  return args["k"] > kLongestSum ? kProductInParts[rests] : kProduct[rests];
}

} // namespace

uint64_t libraryKernelBytes(const KernelArgs &args) {
  std::string_view name = args.def().name;
  if (args.def().kind != fb::KernelKind::library)
    return 0;
  if (args.dtype() == fb::DType::f64)
    return kReference;
  bool isProduct = startsWith(name, "matmul");
  if (name.find("_pack_") != std::string_view::npos)
    return isProduct && args["k"] > kLongestSum ? kReorderInParts : kReorder;
  return isProduct ? productBytes(args) : convolutionBytes(args);
}

uint64_t libraryKernelBytes(const fb::Kernel &kernel) {
  const KernelDef *def = findKernelDef(kernel.name()->string_view());
  KernelArgs args;
  bool isKnown =
      def && kernel.params() && KernelArgs::read(*def, kernel.params()->data(), kernel.params()->size(), &args).isOk();
  return isKnown ? libraryKernelBytes(args) : 0;
}

OutsideMemory outsideMemory(const fb::Plan &plan) {
  OutsideMemory outside;
  if (!startsWith(textOf(plan.target()), "host"))
    return outside;
  outside.base = kBase;
  for (size_t i = 0; i < lengthOf(plan.kernels()); ++i) {
    const fb::Kernel &kernel = *plan.kernels()->Get(i);
    outside.library += libraryKernelBytes(kernel);
    outside.generated += kernel.kind() == fb::KernelKind::generated ? kGenerated : 0;
  }
  for (size_t i = 0; i < lengthOf(plan.programs()); ++i)
    outside.instructions += kInstruction * lengthOf(plan.programs()->Get(i)->instructions());
  return outside;
}

} // namespace cleave::rt

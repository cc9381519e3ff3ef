#include "runtime/plan/OutsideMemory.h"

#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/PlanReader.h"

namespace cleave::rt {

namespace {

constexpr uint64_t kBase = 16 << 20;
constexpr uint64_t kConvolution = 136 << 10; // forward, or one of its gradients; of bf16 131,504 where it was measured
constexpr uint64_t kProduct = 96 << 10;
constexpr uint64_t kProductInParts = 384 << 10; // with a bias 363,904 where it was measured
constexpr uint64_t kReorder = 48 << 10;         // a kernel that packs weights
constexpr uint64_t kReference = 8 << 10;        // ours: no code is made for it
constexpr uint64_t kGenerated = 4 << 10;        // machine code; 1.5 KiB on average where it was measured
constexpr uint64_t kInstruction = 1 << 10;

bool startsWith(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

} // namespace

uint64_t libraryKernelBytes(const KernelArgs &args) {
  std::string_view name = args.def().name;
  if (args.def().kind != fb::KernelKind::library)
    return 0;
  if (args.dtype() == fb::DType::f64)
    return kReference;
  if (name.find("_pack_") != std::string_view::npos)
    return kReorder;
  if (!startsWith(name, "matmul"))
    return kConvolution;
  return args["k"] > kLongestSum ? kProductInParts : kProduct;
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

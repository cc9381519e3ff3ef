#include "kernels/common/host/HostKernel.h"

#include "kernels/common/host/Registry.h"

namespace cleave::rt {

Status makeHostKernel(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  MakeHostKernel make = findHostKernel(args.def().name);
  if (!make)
    return internal("kernel " + std::string(args.def().name) + " has no host implementation");
  return make(args, threads, result).in("kernel " + std::string(args.def().name));
}

Status hostScratchBytes(std::string_view name, const std::vector<int64_t> &params, int threads, size_t *bytes) {
  *bytes = 0;
  const KernelDef *def = findKernelDef(name);
  if (!def)
    return notFound("there is no kernel '" + std::string(name) + "' in Kernels.def");
  KernelArgs args;
  CLEAVE_TRY(KernelArgs::read(*def, params, &args));
  std::unique_ptr<HostKernel> kernel;
  CLEAVE_TRY(makeHostKernel(args, threads, &kernel));
  if (def->hasScratch())
    *bytes = kernel->bufferBytes().back();
  return Status::ok();
}

} // namespace cleave::rt

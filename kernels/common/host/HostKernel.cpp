#include "kernels/common/host/HostKernel.h"

#include "kernels/common/host/Dnnl.h"
#include "kernels/common/host/Registry.h"

#include <omp.h>

namespace cleave::rt {

namespace {

// Sets the size of the calling thread's OpenMP team, because oneDNN uses it when a primitive is made.
class TeamSize {
public:
  explicit TeamSize(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~TeamSize() { omp_set_num_threads(before_); }

private:
  int before_;
};

} // namespace

Status makeHostKernel(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  MakeHostKernel make = findHostKernel(args.def().name);
  if (!make)
    return internal("kernel " + std::string(args.def().name) + " has no host implementation");
  TeamSize team(threads);
  return make(args, threads, result).in("kernel " + std::string(args.def().name));
}

bool hasNativeProducts(fb::DType dtype) {
  switch (dtype) {
  case fb::DType::f32:
  case fb::DType::f64:
    return true;
  case fb::DType::bf16:
    return DnnlBuilder::hasNativeBFloat16();
  default:
    return false;
  }
}

// Makes a kernel only to get its sizes.
static Status bufferBytes(std::string_view name, const std::vector<int64_t> &params, int threads,
                          std::vector<size_t> *bytes) {
  if (threads < 1)
    return invalidArgument("expected at least one thread; got: " + std::to_string(threads));
  const KernelDef *def = findKernelDef(name);
  if (!def)
    return notFound("there is no kernel '" + std::string(name) + "' in Kernels.def");
  KernelArgs args;
  CLEAVE_TRY(KernelArgs::read(*def, params, &args));
  std::unique_ptr<HostKernel> kernel;
  CLEAVE_TRY(makeHostKernel(args, threads, &kernel));
  *bytes = kernel->bufferBytes();
  return Status::ok();
}

Status hostScratchBytes(std::string_view name, const std::vector<int64_t> &params, int threads, size_t *bytes) {
  *bytes = 0;
  std::vector<size_t> all;
  CLEAVE_TRY(bufferBytes(name, params, threads, &all));
  if (findKernelDef(name)->hasScratch())
    *bytes = all.back();
  return Status::ok();
}

Status hostPackedBytes(std::string_view packer, const std::vector<int64_t> &params, int threads, size_t *bytes) {
  std::vector<size_t> all;
  CLEAVE_TRY(bufferBytes(packer, params, threads, &all));
  *bytes = all.back() ? all.front() : 0; // without scratch, the packer does nothing
  return Status::ok();
}

void keepToInstructions(std::string_view target) {
  if (target == "host:generic")
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::sse41); // the lowest level of the library
  else if (target == "host:avx2")
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
  else if (target == "host:avx512")
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core);
}

extern "C" const HostKernels cleave_host_kernels = {makeHostKernel, keepToInstructions};

} // namespace cleave::rt

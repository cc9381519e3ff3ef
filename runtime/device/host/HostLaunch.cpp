#include "runtime/device/host/HostLaunch.h"

#include "runtime/base/Counted.h"

#include <algorithm>
#include <omp.h>

namespace cleave::rt {

extern "C" __attribute__((weak)) const HostKernels cleave_host_kernels;

void keepHostKernelsTo(std::string_view target) {
  if (&cleave_host_kernels)
    cleave_host_kernels.keepToInstructions(target);
}

namespace {

// With less traffic than this, waking the team takes longer than the kernel itself.
constexpr uint64_t kSerialBytes = 32 << 10;

// The operand pointers of one launch. They differ between runs only if a region has frames.
class Operands {
public:
  explicit Operands(const std::vector<Address> &addresses) : addresses_(addresses), pointers_(addresses.size()) {
    hasFrames_ = std::any_of(addresses.begin(), addresses.end(), [](const Address &a) { return a.frames > 1; });
    resolve({});
  }
  void *const *at(const Frames &frames) {
    if (hasFrames_)
      resolve(frames);
    return pointers_.data();
  }

private:
  void resolve(const Frames &frames) {
    for (size_t i = 0; i < addresses_.size(); ++i)
      pointers_[i] = addresses_[i].at(frames);
  }

  std::vector<Address> addresses_;
  std::vector<void *> pointers_;
  bool hasFrames_;
};

// Returns the grain of a kernel: each thread gets a multiple of so many iterations. Neighbouring iterations that are
// short are computed in one vector, and the last ones one by one. An iteration's sum may be added in another order
// there. So an iteration must have the same place in its vector with any number of threads. A vector has at most 16
// numbers, and the shortest loops compute up to four vectors at a time. An iteration that takes longer has vectors of
// its own terms.
int64_t grainOf(const fb::Kernel &kernel) {
  constexpr uint64_t kShortest = 512, kShort = 8192; // operations and bytes of one iteration
  uint64_t work = (kernel.flops() + kernel.bytes()) / std::max<uint64_t>(kernel.extent(), 1);
  return work < kShortest ? 64 : work < kShort ? 16 : 1;
}

class GeneratedLaunch : public Action {
public:
  GeneratedLaunch(const LaunchRequest &request, int threads)
      : function_(request.function), extent_(static_cast<int64_t>(request.kernel.extent())),
        grain_(grainOf(request.kernel)), operands_(request.operands) {
    bool small = request.kernel.bytes() != 0 && request.kernel.bytes() < kSerialBytes;
    threads_ = small ? 1 : static_cast<int>(std::min<int64_t>(threads, std::max<int64_t>(grains(), 1)));
  }

  Status run(const Frames &frames, uint32_t) override {
    void *const *buffers = operands_.at(frames);
    if (threads_ == 1) {
      function_(buffers, 0, extent_);
      return Status::ok();
    }
#pragma omp parallel num_threads(threads_)
    {
      // The team may be smaller than asked for.
      __int128 count = omp_get_num_threads(), index = omp_get_thread_num();
      auto begin = static_cast<int64_t>(grains() * index / count) * grain_;
      auto end = std::min(static_cast<int64_t>(grains() * (index + 1) / count) * grain_, extent_);
      if (begin < end)
        function_(buffers, begin, end);
    }
    return Status::ok();
  }

private:
  int64_t grains() const { return extent_ / grain_ + (extent_ % grain_ != 0); }

  cleave_kernel_fn function_;
  int64_t extent_, grain_;
  int threads_;
  Operands operands_;
};

class NamedLaunch : public Action {
public:
  NamedLaunch(std::shared_ptr<HostKernel> kernel, const std::vector<Address> &operands)
      : kernel_(std::move(kernel)), operands_(operands) {}
  Status run(const Frames &frames, uint32_t) override { return kernel_->run(operands_.at(frames)); }

private:
  std::shared_ptr<HostKernel> kernel_;
  Operands operands_;
};

Status makeNamed(const KernelDef &def, const fb::Kernel &kernel, int threads, std::shared_ptr<HostKernel> *result) {
  if (!&cleave_host_kernels)
    return notFound(
        "kernel " + std::string(def.name) +
        " of the host is not in this program, which was linked for GPUs alone (cleave_rt_device.link); link "
        "it with @cleave_rt.link instead");
  const auto *params = kernel.params();
  KernelArgs args;
  CLEAVE_TRY(KernelArgs::read(def, params ? params->data() : nullptr, lengthOf(params), &args));
  std::unique_ptr<HostKernel> made;
  CLEAVE_TRY(cleave_host_kernels.make(args, threads, &made));
  *result = std::move(made);
  return Status::ok();
}

Status checkSizes(const KernelDef &def, const HostKernel &kernel, const std::vector<Address> &operands, int threads) {
  std::vector<size_t> needed = kernel.bufferBytes();
  for (size_t i = 0; i < needed.size(); ++i) {
    if (operands[i].bytes >= needed[i])
      continue;
    std::string message = "kernel " + std::string(def.name) + " touches " + std::to_string(needed[i]) + " bytes of '" +
                          std::string(def.buffers[i].name) + "'; the plan gives it " +
                          std::to_string(operands[i].bytes);
    if (def.buffers[i].name == "scratch")
      message += " (with " + counted(static_cast<uint64_t>(threads), "thread") +
                 ", the library needs more scratch memory on this machine than was planned: use the plan's "
                 "--threads, or compile on this machine; if this process opened a model of another --target before, "
                 "start a new process)";
    return invalidArgument(message);
  }
  return Status::ok();
}

} // namespace

Status bindGenerated(const LaunchRequest &request, int threads, ActionPtr *action) {
  if (!request.function)
    return notFound("the generated kernel '" + request.kernel.name()->str() +
                    "' is not among the machine code that came with the plan");
  *action = std::make_unique<GeneratedLaunch>(request, threads);
  return Status::ok();
}

Status bindNamed(const LaunchRequest &request, int threads, NamedKernels &kernels, ActionPtr *action) {
  const KernelDef *def = findKernelDef(request.kernel.name()->string_view());
  if (!def)
    return notFound("there is no kernel '" + request.kernel.name()->str() + "' in this runtime");
  std::shared_ptr<HostKernel> &kernel = kernels[&request.kernel];
  if (!kernel)
    CLEAVE_TRY(makeNamed(*def, request.kernel, threads, &kernel));
  Status fits = checkSizes(*def, *kernel, request.operands, threads);
  // The library chooses the format of packed weights for the number of threads, and another number than the plan's may
  // need more bytes. Fewer threads compute the same.
  for (int fewer = threads - 1; !fits.isOk() && fewer >= 1; --fewer) {
    CLEAVE_TRY(makeNamed(*def, request.kernel, fewer, &kernel));
    if (checkSizes(*def, *kernel, request.operands, fewer).isOk())
      fits = Status::ok();
  }
  CLEAVE_TRY(fits);
  *action = std::make_unique<NamedLaunch>(kernel, request.operands);
  return Status::ok();
}

} // namespace cleave::rt

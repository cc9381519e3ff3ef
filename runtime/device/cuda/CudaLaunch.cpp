// CudaDevice: launches of generated and hand-written kernels.
#include "runtime/device/cuda/CudaDevice.h"

#include "kernels/common/cuda/CudaKernel.h"

#include <algorithm>

namespace cleave::rt {

using cuda::check;
using cuda::Handle;
using cuda::Pointer;

namespace {

// The most blocks of a launch for each multiprocessor: enough to fill it several times over with the smallest blocks.
constexpr uint64_t kBlocksPerProcessor = 32;

class GeneratedLaunch : public Action {
public:
  GeneratedLaunch(const cuda::Driver &driver, Handle stream, Handle function, unsigned grid, unsigned block,
                  std::vector<Address> operands)
      : driver_(driver), stream_(stream), function_(function), grid_(grid), block_(block),
        operands_(std::move(operands)), pointers_(operands_.size()) {
    for (std::byte *&pointer : pointers_)
      arguments_.push_back(&pointer);
  }
  Status run(const Frames &frames, uint32_t) override {
    for (size_t i = 0; i < operands_.size(); ++i)
      pointers_[i] = operands_[i].at(frames);
    return check(driver_.launch(function_, grid_, 1, 1, block_, 1, 1, 0, stream_, arguments_.data(), nullptr),
                 "cuLaunchKernel");
  }

private:
  const cuda::Driver &driver_;
  Handle stream_, function_;
  unsigned grid_, block_;
  std::vector<Address> operands_;
  std::vector<std::byte *> pointers_;
  std::vector<void *> arguments_;
};

class NamedLaunch : public Action {
public:
  NamedLaunch(const cuda::Driver &driver, Handle stream, Handle function, unsigned grid, const CudaKernelCall &kernel,
              const CudaCall &call, std::vector<Address> operands)
      : driver_(driver), stream_(stream), function_(function), grid_(grid), source_(kernel.source),
        target_(kernel.target), call_(call), operands_(std::move(operands)) {}
  Status run(const Frames &frames, uint32_t) override {
    for (size_t i = 0; i < operands_.size(); ++i)
      call_.buffers[i] = operands_[i].at(frames);
    if (target_ >= 0 && call_.buffers[target_] != call_.buffers[source_])
      CLEAVE_TRY(check(
          driver_.copy(address(target_), address(source_), operands_[static_cast<size_t>(target_)].bytes, stream_),
          "cuMemcpyAsync"));
    void *arguments[] = {&call_};
    return check(
        driver_.launch(function_, grid_, 1, 1, CudaKernelCall::kBlockSize, 1, 1, 0, stream_, arguments, nullptr),
        "cuLaunchKernel");
  }

private:
  Pointer address(int buffer) const { return reinterpret_cast<Pointer>(call_.buffers[buffer]); }
  const cuda::Driver &driver_;
  Handle stream_, function_;
  unsigned grid_;
  int source_, target_;
  CudaCall call_;
  std::vector<Address> operands_;
};

Status checkSizes(const KernelArgs &args, const std::vector<Address> &operands) {
  const KernelDef &def = args.def();
  for (size_t i = 0; i < def.buffers.size() && i < operands.size(); ++i) {
    uint64_t needed = 0;
    if (def.buffers[i].name == "scratch")
      continue; // any size is enough
    CLEAVE_TRY(args.bufferBytes(i, &needed));
    if (operands[i].bytes < needed)
      return invalidArgument("kernel " + std::string(def.name) + " touches " + std::to_string(needed) + " bytes of '" +
                             std::string(def.buffers[i].name) + "'; the plan gives it " +
                             std::to_string(operands[i].bytes));
  }
  return Status::ok();
}

} // namespace

unsigned CudaDevice::gridOf(uint64_t blocks) const {
  uint64_t most = static_cast<uint64_t>(multiprocessors_) * kBlocksPerProcessor;
  return static_cast<unsigned>(std::clamp<uint64_t>(blocks, 1, most));
}

Status CudaDevice::launch(const LaunchRequest &request, ActionPtr *action) {
  return request.kernel.kind() == fb::KernelKind::generated ? bindGenerated(request, action)
                                                            : bindNamed(request, action);
}

Status CudaDevice::bindGenerated(const LaunchRequest &request, ActionPtr *action) {
  const cleave_device_kernel *kernel = request.device;
  if (!kernel || !kernel->symbol || !modules_.hasGenerated())
    return notFound("the generated kernel '" + request.kernel.name()->str() +
                    "' is not in the device image that came with the plan");
  for (size_t i = 0; i < std::min<size_t>(16, request.operands.size()); ++i) {
    const Address &operand = request.operands[i];
    uint64_t bits = reinterpret_cast<uint64_t>(operand.base) | (operand.frames > 1 ? operand.stride : 0);
    uint64_t needed = uint64_t{1} << (kernel->alignments >> (4 * i) & 15);
    if (bits % needed != 0)
      return invalidArgument("buffer " + std::to_string(i) + " of kernel '" + request.kernel.name()->str() +
                             "' is to begin on a multiple of " + std::to_string(needed) + " bytes");
  }
  Handle function = nullptr, stream = nullptr;
  CLEAVE_TRY(streams_.at(request.stream, &stream));
  CLEAVE_TRY(modules_.generated(kernel->symbol, request.stream, &function));
  *action = std::make_unique<GeneratedLaunch>(*driver_, stream, function, gridOf(kernel->blocks),
                                              static_cast<unsigned>(kernel->block_size), request.operands);
  return Status::ok();
}

Status CudaDevice::bindNamed(const LaunchRequest &request, ActionPtr *action) {
  KernelArgs args;
  std::vector<int64_t> params;
  if (request.kernel.params())
    params.assign(request.kernel.params()->begin(), request.kernel.params()->end());
  CLEAVE_TRY(cudaKernelArgs(request.kernel.name()->string_view(), params, &args));
  if (request.operands.size() != args.def().buffers.size())
    return invalidArgument("kernel " + std::string(args.def().name) + " has " +
                           std::to_string(args.def().buffers.size()) + " buffers; the plan gives it " +
                           std::to_string(request.operands.size()));
  CLEAVE_TRY(checkSizes(args, request.operands));
  if (isProduct(args.def()))
    return bindMatmul(request, args, action);
  if (args.def().work == KernelWork::Convolution) {
    CLEAVE_TRY(bindConvolution(request, args, action));
    if (*action)
      return Status::ok();
  }
  CudaKernelCall kernel;
  CLEAVE_TRY(cudaKernelCall(args, &kernel));
  Handle function = nullptr, stream = nullptr;
  CLEAVE_TRY(streams_.at(request.stream, &stream));
  CLEAVE_TRY(modules_.own(kernel.image(), kernel.function.c_str(), &function));
  CudaCall call = {};
  std::copy(std::begin(kernel.params), std::end(kernel.params), call.params);
  indexed_.push_back(
      {"kernel " + std::string(args.def().name) + (request.note.empty() ? "" : " (" + request.note + ")"),
       kernel.expected});
  call.error = reinterpret_cast<long long *>(error_);
  call.launch = static_cast<long long>(indexed_.size());
  *action =
      std::make_unique<NamedLaunch>(*driver_, stream, function, gridOf(kernel.blocks), kernel, call, request.operands);
  return Status::ok();
}

Status CudaDevice::bindColumnSums(const LaunchRequest &request, const KernelArgs &args, ActionPtr *action) {
  CudaKernelCall kernel;
  CLEAVE_TRY(cudaColumnSums(args, &kernel));
  Handle function = nullptr, stream = nullptr;
  CLEAVE_TRY(streams_.at(request.stream, &stream));
  CLEAVE_TRY(modules_.own(kernel.image(), kernel.function.c_str(), &function));
  CudaCall call = {};
  std::copy(std::begin(kernel.params), std::end(kernel.params), call.params);
  std::vector<Address> operands = {request.operands[static_cast<size_t>(kernel.source)],
                                   request.operands[static_cast<size_t>(kernel.target)]};
  kernel.source = kernel.target = -1; // buffer 1 is not a copy of buffer 0
  *action = std::make_unique<NamedLaunch>(*driver_, stream, function, gridOf(kernel.blocks), kernel, call,
                                          std::move(operands));
  return Status::ok();
}

} // namespace cleave::rt

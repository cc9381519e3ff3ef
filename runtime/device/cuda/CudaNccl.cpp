// CudaDevice: how the GPUs of all ranks communicate; collectives, sends and receives by NCCL.
#include "runtime/base/HumanUnits.h"
#include "runtime/base/Log.h"
#include "runtime/device/cuda/CudaDevice.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace cleave::rt {

using cuda::check;
using cuda::Handle;

namespace {

// The GPU of a rank, and the way in which it wants to communicate.
struct RankDevice {
  char uuid[16];
  int32_t way;
  uint64_t bytes, free; // of the GPU's memory: needed by the rank's plan; free
};
constexpr int32_t kAsFits = 0, kByNccl = 1, kByHost = 2;

Status wayOf(const std::string &text, int32_t *way) {
  *way = text.empty() ? kAsFits : text == "nccl" ? kByNccl : kByHost;
  if (text.empty() || text == "nccl" || text == "host")
    return Status::ok();
  return invalidArgument("CLEAVE_CUDA_COMM='" + text + "': expected nccl or host");
}

bool shareGpu(const RankDevice &one, const RankDevice &other) {
  return std::memcmp(one.uuid, other.uuid, sizeof one.uuid) == 0;
}

// Fails if the plans of all ranks on this rank's GPU do not fit into its memory together.
Status checkMemory(const std::vector<RankDevice> &devices, const RankDevice &mine) {
  uint64_t needed = 0, ranks = 0;
  for (const RankDevice &device : devices)
    if (shareGpu(device, mine)) {
      needed += device.bytes;
      ++ranks;
    }
  if (needed <= mine.free)
    return Status::ok();
  return {Code::OutOfMemory, "the plans of the " + std::to_string(ranks) + " ranks that share a GPU take " +
                                 exactBytesText(needed) + " of its memory; " + exactBytesText(mine.free) +
                                 " are free; give each rank a GPU of its own, or compile for fewer ranks"};
}

// Finds two ranks on one GPU. Returns false if there are none.
bool findShared(const std::vector<RankDevice> &devices, size_t *one, size_t *other) {
  for (*one = 0; *one < devices.size(); ++*one)
    for (*other = *one + 1; *other < devices.size(); ++*other)
      if (shareGpu(devices[*one], devices[*other]))
        return true;
  return false;
}

// An action that passes its request to the world: a collective, a send or a receive.
template <typename Request, Status (NcclWorld::*enqueue)(const Request &, std::byte *, Handle, const std::string &)>
class NcclAction : public Action {
public:
  NcclAction(NcclWorld &world, Handle stream, Request request)
      : world_(world), stream_(stream), request_(std::move(request)) {}
  Status run(const Frames &frames, uint32_t) override {
    return (world_.*enqueue)(request_, request_.data.at(frames), stream_, request_.place);
  }

private:
  NcclWorld &world_;
  Handle stream_;
  Request request_;
};
using NcclCollective = NcclAction<CollectiveRequest, &NcclWorld::collective>;
using NcclTransfer = NcclAction<TransferRequest, &NcclWorld::transfer>;

} // namespace

// Uses NCCL if each rank has a GPU of its own, and the host's memory if ranks share one. All ranks have the same data,
// so they choose alike.
Status CudaDevice::connect(const ConnectRequest &request) {
  if (request.comm.size() == 1)
    return Status::ok();
  RankDevice mine = {};
  CLEAVE_TRY(wayOf(envString("CLEAVE_CUDA_COMM"), &mine.way));
  CLEAVE_TRY(check(driver_->deviceUuid(mine.uuid, device_), "cuDeviceGetUuid"));
  mine.bytes = options_.deviceBytes;
  mine.free = freeBytes_;
  std::vector<RankDevice> devices(static_cast<size_t>(request.comm.size()));
  CLEAVE_TRY(request.comm.allGather(&mine, sizeof mine, devices.data(), kControlChannel));
  // No rank has allocated its regions yet: all ranks are between open() and this point.
  CLEAVE_TRY(checkMemory(devices, mine));
  size_t one = 0, other = 0;
  bool isShared = findShared(devices, &one, &other);
  for (size_t rank = 0; rank < devices.size(); ++rank)
    if (devices[rank].way != devices[0].way)
      return invalidArgument("CLEAVE_CUDA_COMM differs between rank 0 and rank " + std::to_string(rank) +
                             "; set it alike for all");
  if (mine.way == kByNccl && isShared)
    return invalidArgument("CLEAVE_CUDA_COMM=nccl: ranks " + std::to_string(one) + " and " + std::to_string(other) +
                           " share a GPU, and NCCL needs one for each; start fewer ranks, or leave it out");
  if (mine.way == kByHost || isShared)
    return Status::ok();

  std::byte *done = nullptr, *marks = nullptr;
  CLEAVE_TRY(allocate(fb::Space::host, sizeof(uint32_t), &done));
  CLEAVE_TRY(allocate(fb::Space::device, NcclWorld::kMarks * sizeof(uint32_t), &marks));
  std::vector<uint32_t> numbers(NcclWorld::kMarks);
  std::iota(numbers.begin(), numbers.end(), 0u);
  CLEAVE_TRY(upload(marks, reinterpret_cast<const std::byte *>(numbers.data()), numbers.size() * sizeof(uint32_t)));
  CLEAVE_TRY(waitFor(streams_.main()));
  NcclWorld::Setup setup{driver_,
                         device_,
                         context_,
                         &streams_,
                         reinterpret_cast<volatile uint32_t *>(done),
                         reinterpret_cast<cuda::Pointer>(marks)};
  CLEAVE_TRY(NcclWorld::join(setup, request, &world_));
  return world_->agree(canCapture_, &canCapture_);
}

Status CudaDevice::collective(const CollectiveRequest &request, ActionPtr *action) {
  Handle stream = nullptr;
  CLEAVE_TRY(streams_.at(request.stream, &stream));
  if (!world_ || request.group.size() == 1)
    return exchangeCollective(request, stream, action);
  *action = std::make_unique<NcclCollective>(*world_, stream, request);
  return Status::ok();
}

Status CudaDevice::transfer(const TransferRequest &request, ActionPtr *action) {
  Handle stream = nullptr;
  CLEAVE_TRY(streams_.at(request.stream, &stream));
  if (!world_)
    return exchangeTransfer(request, stream, action);
  *action = std::make_unique<NcclTransfer>(*world_, stream, request);
  return Status::ok();
}

} // namespace cleave::rt

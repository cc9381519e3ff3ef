#include "runtime/device/Device.h"

#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/host/HostDevice.h"
#include "runtime/plan/TargetFamily.h"

#include <algorithm>
#include <cstring>

namespace cleave::rt {

Status Device::upload(std::byte *target, const std::byte *source, size_t bytes) {
  std::memcpy(target, source, bytes);
  return Status::ok();
}

Status Device::download(std::byte *target, const std::byte *source, size_t bytes) {
  std::memcpy(target, source, bytes);
  return Status::ok();
}

Status runRing(const CollectiveRequest &request, const RingData &ring) {
  unsigned channel = std::min(request.stream, kStreamChannels - 1);
  switch (request.opcode) {
  case Opcode::AllReduce:
    return ringAllReduce(request.comm, request.group, channel, ring);
  case Opcode::ReduceScatter:
    return ringReduceScatter(request.comm, request.group, channel, ring);
  case Opcode::AllGather:
    return ringAllGather(request.comm, request.group, channel, ring);
  case Opcode::Reduce:
    return ringReduce(request.comm, request.group, channel, ring, request.root);
  case Opcode::Broadcast:
    return ringBroadcast(request.comm, request.group, channel, ring, request.root);
  default:
    return internal("not a collective");
  }
}

Status runTransfer(const TransferRequest &request, std::byte *data) {
  static_assert(kStreamChannels + kTransferChannels == kChannels);
  unsigned channel = kStreamChannels + request.channel;
  bool sends = request.opcode == Opcode::Send;
  Status status = sends ? request.comm.send(request.peer, data, request.data.bytes, channel)
                        : request.comm.receive(request.peer, data, request.data.bytes, channel);
  return status.isOk() ? status
                       : std::move(status).in((sends ? "to rank " : "from rank ") + std::to_string(request.peer));
}

Status createDevice(const std::string &target, const DeviceOptions &options, std::unique_ptr<Device> *result) {
  std::string_view family = targetFamily(target);
  if (family == "host") {
    *result = std::make_unique<HostDevice>(target, options);
    return Status::ok();
  }
  if (family == "cuda")
    return CudaDevice::create(target, options, result);
  return invalidArgument("the plan's target '" + target + "' is not a device of this runtime; it has: host, cuda");
}

} // namespace cleave::rt

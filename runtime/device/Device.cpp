#include "runtime/device/Device.h"

#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/host/HostDevice.h"

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

Status runRing(const CollectiveRequest &request, unsigned channel, const RingData &ring) {
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

Status createDevice(const std::string &target, const DeviceOptions &options, std::unique_ptr<Device> *result) {
  std::string family = target.substr(0, target.find(':'));
  if (family == "host") {
    *result = std::make_unique<HostDevice>(options);
    return Status::ok();
  }
  if (family == "cuda")
    return CudaDevice::create(target, options, result);
  return invalidArgument("the plan's target '" + target + "' is not a device of this runtime; it has: host, cuda");
}

} // namespace cleave::rt

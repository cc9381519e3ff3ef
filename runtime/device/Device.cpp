#include "runtime/device/Device.h"

#include "runtime/device/host/HostDevice.h"

namespace cleave::rt {

Status createDevice(const std::string &target, const DeviceOptions &options, std::unique_ptr<Device> *result) {
  std::string family = target.substr(0, target.find(':'));
  if (family == "host") {
    *result = std::make_unique<HostDevice>(options);
    return Status::ok();
  }
  return invalidArgument("the plan's target '" + target + "' is not a device of this runtime; it has: host");
}

} // namespace cleave::rt

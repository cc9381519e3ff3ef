#include "runtime/device/cuda/ChosenDevice.h"

#include "runtime/base/Log.h"
#include "runtime/base/OptionText.h"
#include "runtime/comm/Launcher.h"

namespace cleave::rt::cuda {

Status chooseDevice(const Driver &driver, const std::string &target, int rank, int *device) {
  int count = 0;
  Result result = driver.init(0);
  if (result == 0)
    result = driver.deviceCount(&count);
  if (result == kErrorNoDevice || (result == 0 && count == 0))
    return notFound("this program was compiled for " + target + ", and the driver finds no GPU on this machine");
  CLEAVE_TRY(check(result, "cuInit"));
  int ordinal = localRank(rank) % count;
  if (std::string chosen = envString("CLEAVE_CUDA_DEVICE"); !chosen.empty()) {
    uint64_t wanted = 0;
    if (!parseUnsigned(chosen, &wanted) || wanted >= static_cast<uint64_t>(count))
      return invalidArgument("CLEAVE_CUDA_DEVICE=" + chosen + ": expected the number of a device; there are " +
                             std::to_string(count) + ", from 0");
    ordinal = static_cast<int>(wanted);
  }
  return check(driver.deviceGet(device, ordinal), "cuDeviceGet");
}

} // namespace cleave::rt::cuda

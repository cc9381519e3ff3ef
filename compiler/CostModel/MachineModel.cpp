#include "compiler/CostModel/MachineModel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cleave {

double Measurements::trafficRate(double distance) const {
  auto next = std::find_if(traffic.begin(), traffic.end(), [&](const TrafficPoint &one) { return one.bytes >= distance; });
  if (next == traffic.end())
    return traffic.back().bytesPerSecond;
  if (next == traffic.begin())
    return next->bytesPerSecond;
  auto before = next - 1;
  double part = std::log(distance / before->bytes) / std::log(next->bytes / before->bytes);
  return before->bytesPerSecond * std::pow(next->bytesPerSecond / before->bytesPerSecond, part);
}

const RateTable *Measurements::table(std::string_view kernel, std::string_view type, std::string_view variant) const {
  for (const RateTable &one : kernels)
    if (one.kernel == kernel && one.type == type && one.variant == variant)
      return &one;
  return nullptr;
}

double MachineModel::efficiency(Work work) const {
  switch (work) {
  case Work::Product:
    return productEfficiency;
  case Work::Attention:
    return attentionEfficiency;
  case Work::Vector:
    return vectorEfficiency;
  }
  return 1;
}

std::optional<double> MachineModel::peak(Work work, const std::string &type) const {
  auto found = peaks(work).find(type);
  return found == peaks(work).end() ? std::nullopt : std::optional(found->second);
}

Machine MachineModel::forKernels(Work work, double peak) const {
  Machine machine;
  machine.flopsPerSecond = peak * efficiency(work);
  machine.bytesPerSecond = memoryRate * memoryEfficiency;
  machine.launchSeconds = launchSeconds;
  return machine;
}

Machine MachineModel::forLink(const Link &link) const {
  Machine machine;
  machine.linkBytesPerSecond = link.bytesPerSecond * linkEfficiency;
  machine.linkSeconds = link.seconds;
  return machine;
}

static MachineModel makePlain() {
  Machine plain;
  MachineModel machine;
  machine.name = "no machine in particular";
  for (const char *type : {"f64", "f32", "bf16", "f16"})
    machine.productRates[type] = machine.vectorRates[type] = plain.flopsPerSecond;
  machine.memoryRate = plain.bytesPerSecond;
  machine.launchSeconds = plain.launchSeconds;
  machine.nodeRanks = std::numeric_limits<uint64_t>::max();
  machine.node = {plain.linkBytesPerSecond, plain.linkSeconds};
  machine.hostCopy = Link{plain.bytesPerSecond, plain.launchSeconds};
  return machine;
}

const MachineModel &plainMachine() {
  static const MachineModel machine = makePlain();
  return machine;
}

} // namespace cleave

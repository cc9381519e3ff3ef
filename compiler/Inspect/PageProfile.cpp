#include "compiler/Inspect/PageProfile.h"

#include "compiler/Inspect/Prediction.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>

namespace cleave::view {

using namespace rt;
using nlohmann::json;

static double micro(double seconds) { return static_cast<double>(static_cast<int64_t>(seconds * 1e9 + 0.5)) / 1e3; }

// Sums up the rows beyond those that are shown: how many they are, and their time together.
static json restOf(const std::vector<ProfileRow> &rows, size_t shown) {
  double seconds = 0, predicted = 0;
  for (size_t i = shown; i < rows.size(); ++i) {
    seconds += rows[i].seconds;
    predicted += rows[i].predicted;
  }
  return {{"count", rows.size() - shown}, {"time", micro(seconds)}, {"predicted", micro(predicted)}};
}

static json rowJson(const ProfileRow &row) {
  return {{"node", row.node},
          {"nodes", row.nodes},
          {"launches", row.launches},
          {"time", micro(row.seconds)},
          {"predicted", micro(row.predicted)},
          {"flops", row.flops},
          {"bytes", row.bytes}};
}

json profileJson(const fb::Plan &plan, const PageParts &parts) {
  if (!parts.profile)
    return json();
  const Profile &profile = *parts.profile;
  json result = {{"time", micro(profile.seconds)},
                 {"kernelTime", micro(profile.kernelSeconds)},
                 {"otherTime", micro(profile.otherSeconds)},
                 {"kernels", json::array()},
                 {"nodes", json::array()}};
  std::vector<const fb::Plan *> kinds = kindsOf(plan);
  size_t kernels = std::min(kMostExpensive, profile.kernels.size()),
         nodes = std::min(kMostExpensive, profile.nodes.size());
  for (size_t i = 0; i < kernels; ++i) {
    const ProfileRow &row = profile.kernels[i];
    json shown = rowJson(row);
    shown["kind"] = kinds.size() > 1 ? std::string(textOf(kinds[row.kind]->kind())) : "";
    shown["kernel"] = std::string(textOf(kinds[row.kind]->kernels()->Get(static_cast<uint32_t>(row.kernel))->name()));
    if (parts.machine) {
      const plan::KernelCost &cost = parts.machine->costs.kernel(*kinds[row.kind], row.kernel);
      shown["type"] = cost.type;
      shown["peak"] = cost.peak;
      shown["bound"] = boundText(cost.bound);
    }
    result["kernels"].push_back(std::move(shown));
  }
  for (size_t i = 0; i < nodes; ++i)
    result["nodes"].push_back(rowJson(profile.nodes[i]));
  result["otherKernels"] = restOf(profile.kernels, kernels);
  result["otherNodes"] = restOf(profile.nodes, nodes);
  if (parts.machine) {
    result["memoryRate"] = parts.machine->machine.memoryRate;
    result["predicted"] = micro(parts.machine->seconds);
  }
  return result;
}

} // namespace cleave::view

// The machine that a plan will run on: peak rates, links, and the shares of the peaks that programs reach. It provides
// the constants for the formulas of CostModel.h. It uses no MLIR.
//
// A machine is an entry of the table of known machines (h100, h200, a100; KnownMachines.cpp) or a JSON file of the
// user. The same reader reads both:
//
//   {
//     "name": "two nodes of my cluster",
//     "source": "the vendor's data sheet of 2025-03",
//     "product_flops_per_second": {"f32": 6e13, "bf16": 9e14},   matrix products and attention, by type of the operands
//     "vector_flops_per_second": {"f32": 6e13},                  everything else
//     "memory_bytes_per_second": 3e12,
//     "launch_seconds": 2e-6,                                    from the end of a kernel to the begin of the next
//     "node": {"ranks": 8, "bytes_per_second": 4.5e11, "seconds": 4e-6},    between ranks of one node
//     "network": {"bytes_per_second": 5e10, "seconds": 14e-6},              between ranks of different nodes
//     "host_copy": {"bytes_per_second": 6e10, "seconds": 5e-6},             between the device's memory and the host's
//     "efficiency": {"products": 0.75, "attention": 0.4, "vector": 0.5, "memory": 0.8, "links": 0.8},
//     "targets": ["cuda:sm_90"]
//   }
//
// `network`, `host_copy` and `targets` may be absent. The first two are required only if a plan needs them. Without
// `targets`, the machine accepts plans of all targets. All other keys are required, and except for those of measured
// machines no others are allowed. Rates are peaks, and `efficiency` has the shares of them that are reached.
//
// A file that `cleave calibrate` has written has more keys. Their rates were measured, so no share is taken of them:
//
//     "measured": {
//       "threads": 1,                                     of a rank
//       "traffic": [{"bytes": 262144, "bytes_per_second": 9e10}, ...],     by reuse distance (TrafficPoint)
//       "kernels": [{"kernel": "matmul", "type": "f32", "variant": "nn",
//                    "axes": [{"name": "m", "values": [4, 16, 64]}, ...],
//                    "flops_per_second": [...]}, ...]     the last axis is the fastest (RateTable)
//     }
#ifndef CLEAVE_COMPILER_COSTMODEL_MACHINEMODEL_H
#define CLEAVE_COMPILER_COSTMODEL_MACHINEMODEL_H

#include "compiler/CostModel/CostModel.h"
#include "compiler/CostModel/RateTable.h"
#include "runtime/base/Status.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

struct Link {
  double bytesPerSecond = 0, seconds = 0; // bytes per second in one direction; seconds for one message
};

// The kind of work of a kernel. Each kind has a share of the peak that it reaches.
enum class Work { Product, Attention, Vector };

// The rate at which bytes arrive if the traffic since they were last touched is `bytes` (the reuse distance). It
// depends on whether they are in a near cache, a far one, or memory. Between two points, the rate is interpolated over
// logarithms.
struct TrafficPoint {
  double bytes = 0, bytesPerSecond = 0;
};

// Rates that were measured on the machine itself, with the runtime's own kernels.
struct Measurements {
  uint64_t threads = 1;              // of a rank
  std::vector<TrafficPoint> traffic; // ascending; at least one
  std::vector<RateTable> kernels;

  double trafficRate(double distance) const;
  // Null if there is no table for this kernel, type and variant.
  const RateTable *table(std::string_view kernel, std::string_view type, std::string_view variant) const;
};

struct MachineModel {
  std::string name, source;
  std::map<std::string, double> productRates, vectorRates; // "bf16" -> FLOP/s
  double memoryRate = 0, launchSeconds = 0;
  uint64_t nodeRanks = 1;
  Link node;
  std::optional<Link> network, hostCopy;
  double productEfficiency = 1, attentionEfficiency = 1, vectorEfficiency = 1, memoryEfficiency = 1, linkEfficiency = 1;
  std::vector<std::string> targets;
  std::optional<Measurements> measured;

  const std::map<std::string, double> &peaks(Work work) const {
    return work == Work::Vector ? vectorRates : productRates;
  }
  double efficiency(Work work) const;
  // The peak for a type; empty if the machine does not state it.
  std::optional<double> peak(Work work, const std::string &type) const;
  // The constants for kernels of this kind and peak, and for messages on a link. They include the efficiencies.
  Machine forKernels(Work work, double peak) const;
  Machine forLink(const Link &link) const;
};

// A machine that is used if none is known: rates of a core of a host of 2020 and of its network, with all ranks
// on one node. It is only for comparing costs. Its seconds are not a prediction.
const MachineModel &plainMachine();

// The names of the table: "a100", "h100", "h200".
std::vector<std::string> knownMachines();
// The JSON of a machine of the table; null if there is none with this name.
const char *knownMachineJson(std::string_view name);

// Reads the JSON. Errors name the key: "node.ranks: expected a whole number from 1 to 1000000; got: -1".
rt::Status readMachine(std::string_view json, MachineModel *machine);
// The JSON that readMachine() reads.
std::string writeMachine(const MachineModel &machine);

} // namespace cleave

#endif

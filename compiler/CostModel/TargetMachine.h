// A machine that a plan is to run on: peak rates, links, and the shares of them that programs are taken to reach. It
// gives the formulas of CostModel.h their constants. No MLIR.
//
// A machine comes from a table of this file (h100, h200, a100) or from a JSON file of the user's, which one reader
// reads:
//
//   {
//     "name": "two nodes of my cluster",
//     "source": "the vendor's data sheet of 2025-03",
//     "product_flops_per_second": {"f32": 6e13, "bf16": 9e14},   matrix products and attention, by type of the operands
//     "vector_flops_per_second": {"f32": 6e13},                  everything else
//     "memory_bytes_per_second": 3e12,
//     "launch_seconds": 2e-6,                                    from the end of a kernel to the begin of the next
//     "node": {"ranks": 8, "bytes_per_second": 4.5e11, "seconds": 4e-6},    a rank to another one of its node
//     "network": {"bytes_per_second": 5e10, "seconds": 14e-6},              a rank to one of another node
//     "host_copy": {"bytes_per_second": 6e10, "seconds": 5e-6},             the device's memory from or to the host's
//     "efficiency": {"products": 0.75, "attention": 0.4, "vector": 0.5, "memory": 0.8, "links": 0.8},
//     "targets": ["cuda:sm_90"]
//   }
//
// `network`, `host_copy` and `targets` may be absent: the first two are asked for when a plan needs them, and without
// `targets` the machine takes plans of all targets. All other keys are required, and no others are allowed but those of
// measured machines. Rates are peaks, of which `efficiency` has the share that is reached.
//
// A file that `cleave calibrate` wrote says more, and what it says was measured, so that no share is taken of it:
//
//     "measured": {
//       "threads": 1,                                     of a rank; "ranks": so many ran at the same time
//       "traffic": [{"bytes": 262144, "bytes_per_second": 9e10}, ...],     by reuse distance (Traffic)
//       "kernels": [{"kernel": "matmul", "type": "f32", "variant": "nn",
//                    "axes": [{"name": "m", "values": [4, 16, 64]}, ...],
//                    "flops_per_second": [...]}, ...]     the last axis is the fastest (RateTable)
//     }
#ifndef CLEAVE_COMPILER_COSTMODEL_TARGETMACHINE_H
#define CLEAVE_COMPILER_COSTMODEL_TARGETMACHINE_H

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
  double bytesPerSecond = 0, seconds = 0; // one direction; of one message
};

// What kind of work a kernel is; each has a share of the peak that it reaches.
enum class Work { Product, Attention, Vector };

// How fast bytes come that were touched last so many bytes of traffic ago: from a near cache, a far one, or memory.
// Between two points the rate is interpolated, over logarithms.
struct TrafficPoint {
  double bytes = 0, bytesPerSecond = 0;
};

// What a machine's own kernels took, on that machine.
struct Measurements {
  uint64_t threads = 1;                // of a rank
  std::vector<TrafficPoint> traffic;   // ascending; at least one
  std::vector<RateTable> kernels;

  double trafficRate(double distance) const;
  // Null where there is none of that kernel, type and variant.
  const RateTable *table(std::string_view kernel, std::string_view type, std::string_view variant) const;
};

struct TargetMachine {
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
  // The peak for a type; none where the machine does not say it.
  std::optional<double> peak(Work work, const std::string &type) const;
  // The constants of kernels of that kind and type, and of messages on that link, efficiencies included.
  Machine forKernels(Work work, double peak) const;
  Machine forLink(const Link &link) const;
};

// No machine in particular: rates of a core of a host of 2020 and of its network, one rank to a node. It orders
// things; nobody should read seconds from it.
const TargetMachine &plainMachine();

// The names in the table: "a100", "h100", "h200".
std::vector<std::string> knownMachines();
// The JSON of a machine in the table; null where there is none of that name.
const char *knownMachineJson(std::string_view name);

// Reads the JSON. Errors name the key: "node.ranks: expected a whole number from 1 to 1000000; got: -1".
rt::Status readMachine(std::string_view json, TargetMachine *machine);
// The JSON that readMachine() reads.
std::string writeMachine(const TargetMachine &machine);

} // namespace cleave

#endif

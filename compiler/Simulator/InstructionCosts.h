// The time that each instruction of a plan takes on a machine, by the cost model (compiler/CostModel). Kernels are
// computed from the arithmetic and traffic that the plan states. Collectives are computed by the ring formulas, on the
// slowest link of their group.
//
// Ranks are placed on nodes in their order: with nodes of 8 ranks, ranks 0 to 7 are on the first. If all members of a
// group are on one node, the group uses the node's links, and otherwise the network:
//
//   mesh dp=2,fsdp=8 on nodes of 8      fsdp: within a node        dp: between nodes
#ifndef CLEAVE_COMPILER_SIMULATOR_INSTRUCTIONCOSTS_H
#define CLEAVE_COMPILER_SIMULATOR_INSTRUCTIONCOSTS_H

#include "compiler/CostModel/MachineModel.h"
#include "compiler/Simulator/TrafficTimes.h"
#include "runtime/plan/InstructionView.h"
#include "runtime/plan/PlanReader.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cleave::plan {

// The resource that limits a kernel.
enum class Bound { Compute, Memory, Launch };

// The cost of a plan's kernel on a machine.
struct KernelCost {
  Work work = Work::Vector;
  std::string type; // type whose peak is used: "bf16"
  double peak = 0;  // the machine's peak for this work and type, FLOP/s
  double compute = 0; // seconds of its arithmetic; includes a minimum of traffic if its own rate was measured
  double seconds = 0; // seconds of its longest launch
  Bound bound = Bound::Launch;
};

class InstructionCosts {
public:
  // The costs of all kinds of ranks. `machine` must pass checkMachine() for the plan.
  InstructionCosts(const rt::fb::Plan &plan, const MachineModel &machine);

  // The time of launches, copies, fills, collectives and messages; 0 for other instructions.
  double seconds(const rt::fb::Plan &kind, const rt::InstructionView &instruction) const;
  const KernelCost &kernel(const rt::fb::Plan &kind, size_t index) const { return kernels_.at(&kind)[index]; }

private:
  void addLaunches(const rt::fb::Plan &kind);
  double memorySeconds(const rt::fb::Plan &kind, const rt::InstructionView &view, uint64_t bytes) const;
  double transferSeconds(const rt::fb::Plan &kind, const rt::InstructionView &view) const;
  double collectiveSeconds(const rt::fb::Plan &kind, const rt::InstructionView &view) const;
  Machine link(bool betweenNodes) const;

  const MachineModel machine_;
  std::map<const rt::fb::Plan *, std::vector<KernelCost>> kernels_;
  std::map<const rt::fb::Plan *, TrafficTimes> traffic_;       // for a measured machine
  std::map<const rt::fb::Plan *, std::vector<bool>> crossing_; // groups with members on several nodes
  std::set<uint32_t> crossingAxes_;
};

// True if the plan's device is a GPU.
bool isForGpus(const rt::fb::Plan &plan);

// True if some group along the axis has members on several nodes.
bool isBetweenNodes(const rt::fb::Plan &plan, const MachineModel &machine, uint32_t axis);

// Checks that the machine accepts the plan and has all rates that the plan needs: for its types, for links between
// nodes, for copies to and from the host. An error names the missing key.
rt::Status checkMachine(const rt::fb::Plan &plan, const MachineModel &machine);

} // namespace cleave::plan

#endif

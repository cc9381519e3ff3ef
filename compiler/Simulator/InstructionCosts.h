// What each instruction of a plan takes on a machine, by the cost model (compiler/CostModel): kernels by their
// arithmetic and traffic as the plan states them, collectives by the ring formulas on the slowest link that their group
// uses.
//
// Ranks lie on nodes in their order: with nodes of 8 ranks, ranks 0 to 7 are on the first. A group whose members are
// all on one node uses the links of a node, any other the network:
//
//   mesh dp=2,fsdp=8 on nodes of 8      fsdp: within a node        dp: between nodes
#ifndef CLEAVE_COMPILER_SIMULATOR_INSTRUCTIONCOSTS_H
#define CLEAVE_COMPILER_SIMULATOR_INSTRUCTIONCOSTS_H

#include "compiler/CostModel/TargetMachine.h"
#include "compiler/Simulator/TrafficTimes.h"
#include "runtime/plan/InstructionView.h"
#include "runtime/plan/PlanReader.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cleave::plan {

// What holds a kernel back.
enum class Bound { Compute, Memory, Launch };

// A kernel of a plan on a machine.
struct KernelCost {
  Work work = Work::Vector;
  std::string type; // whose peak counts: "bf16"
  double peak = 0;  // of the machine for that work and type, FLOP/s
  double compute = 0; // seconds of its arithmetic; with the least traffic where its own rate was measured
  double seconds = 0; // of the launch that takes longest
  Bound bound = Bound::Launch;
};

class InstructionCosts {
public:
  // Of all kinds of ranks. `machine` must pass checkMachine() for the plan.
  InstructionCosts(const rt::fb::Plan &plan, const TargetMachine &machine);

  // Launches and the time of copies, fills, collectives and messages; 0 for others.
  double seconds(const rt::fb::Plan &kind, const rt::InstructionView &instruction) const;
  const KernelCost &kernel(const rt::fb::Plan &kind, size_t index) const { return kernels_.at(&kind)[index]; }

private:
  void addLaunches(const rt::fb::Plan &kind);
  double memorySeconds(const rt::fb::Plan &kind, const rt::InstructionView &view, uint64_t bytes) const;
  double transferSeconds(const rt::fb::Plan &kind, const rt::InstructionView &view) const;
  double collectiveSeconds(const rt::fb::Plan &kind, const rt::InstructionView &view) const;
  Machine link(bool betweenNodes) const;

  const TargetMachine machine_;
  std::map<const rt::fb::Plan *, std::vector<KernelCost>> kernels_;
  std::map<const rt::fb::Plan *, TrafficTimes> traffic_;       // of a measured machine
  std::map<const rt::fb::Plan *, std::vector<bool>> crossing_; // groups that lie on several nodes
  std::set<uint32_t> crossingAxes_;
};

// Whether members of some group along the axis lie on several nodes.
bool isBetweenNodes(const rt::fb::Plan &plan, const TargetMachine &machine, uint32_t axis);

// Whether the machine takes the plan and says all that the plan needs: rates of its types, links between nodes, copies
// from the host. An error names the key that is missing.
rt::Status checkMachine(const rt::fb::Plan &plan, const TargetMachine &machine);

} // namespace cleave::plan

#endif

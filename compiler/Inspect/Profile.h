// `cleave inspect --profile`: compares a step that ran (`train --trace`) with the plan, instruction by instruction.
// Shows the time by kernel and by node of the model, and, if a machine is given, compares it with the machine's peaks
// and the cost model.
#ifndef CLEAVE_COMPILER_INSPECT_PROFILE_H
#define CLEAVE_COMPILER_INSPECT_PROFILE_H

#include "compiler/CostModel/MachineModel.h"
#include "compiler/Inspect/Page.h"
#include "compiler/Simulator/InstructionCosts.h"

#include <string>
#include <vector>

namespace cleave::view {

// All launches of one kernel by the rank that stands for its kind; or of all kernels of one node.
struct ProfileRow {
  size_t kind = 0, kernel = 0;
  uint64_t launches = 0;
  double seconds = 0, flops = 0, bytes = 0;
  double predicted = 0; // seconds by the cost model; 0 without a machine
  std::string node;     // of the first launch
  size_t nodes = 0;     // number of different nodes
};

// The number of kernels, and of nodes, that are shown.
inline constexpr size_t kMostExpensive = 20;

struct Profile {
  double seconds = 0;                     // from the step's beginning to its last instruction's end
  double kernelSeconds = 0;               // of all launches, one rank of each kind
  double otherSeconds = 0;                // of copies, fills, collectives and messages
  double restSeconds = 0;                 // of the step, while no instruction ran
  std::vector<ProfileRow> kernels, nodes; // the most expensive first
};

// `measured` must have the numbers of instructions (findInstructions()). `costs` may be null.
Profile profileOf(const rt::fb::Plan &plan, const Measured &measured, const plan::InstructionCosts *costs);

struct MachineCosts {
  const MachineModel &machine;
  const plan::InstructionCosts &costs;
  double seconds; // of the predicted step
};

// `machine` may be null.
std::string profileText(const rt::fb::Plan &plan, const Measured &measured, const Profile &profile,
                        const MachineCosts *machine);

} // namespace cleave::view

#endif

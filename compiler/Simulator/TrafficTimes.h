// Computes how long a step's launches, copies and fills wait for their bytes, on a machine whose caches were measured.
//
// Bytes that were touched a moment ago come from a near cache, and others from a far one or from memory. The plan tells
// which: the *reuse distance* of an operand is the traffic between the last instruction that touched its bytes and this
// instruction. Measurements::traffic has the rate for a distance.
//
//   a: writes x (1 MB)    b: reads y (6 MB)    c: reads x        the reuse distance of x is 1 + 6 MB
//
// Instructions of other streams count in issue order. Scratch is left out, because the plan does not say how much of it
// a library touches.
#ifndef CLEAVE_COMPILER_SIMULATOR_TRAFFICTIMES_H
#define CLEAVE_COMPILER_SIMULATOR_TRAFFICTIMES_H

#include "compiler/CostModel/MachineModel.h"
#include "runtime/plan/InstructionView.h"
#include "runtime/plan/PlanReader.h"

#include <unordered_map>

namespace cleave::plan {

class TrafficTimes {
public:
  // Follows the kind's main entry, in a step that comes after another step.
  TrafficTimes(const rt::fb::Plan &kind, const Measurements &measured);

  // The mean over all runs of the instruction. Empty if the step does not run it, or is too long to be followed.
  std::optional<double> seconds(const rt::InstructionView &instruction) const;

private:
  struct Sum {
    double seconds = 0;
    uint64_t runs = 0;
  };
  // By the address of an instruction's first buffer object, which no other instruction has.
  std::unordered_map<const rt::fb::Buffer *, Sum> sums_;
};

} // namespace cleave::plan

#endif

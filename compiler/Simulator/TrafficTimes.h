// How long a step's launches, copies and fills wait for their bytes, on a machine whose caches were measured.
//
// Bytes that were touched a moment ago come from a near cache, others from a far one or from memory. Which it is follows
// from the plan: the *reuse distance* of an operand is the traffic between the last instruction that touched its
// bytes and this one. Measurements::traffic has the rate for a distance.
//
//   a: writes x (1 MB)    b: reads y (6 MB)    c: reads x        x comes over a distance of 1 + 6 MB
//
// Streams other than the instruction's own count in issue order. Scratch memory is left out: how much of it a library
// touches is not in the plan.
#ifndef CLEAVE_COMPILER_SIMULATOR_TRAFFICTIMES_H
#define CLEAVE_COMPILER_SIMULATOR_TRAFFICTIMES_H

#include "compiler/CostModel/TargetMachine.h"
#include "runtime/plan/InstructionView.h"
#include "runtime/plan/PlanReader.h"

#include <unordered_map>

namespace cleave::plan {

class TrafficTimes {
public:
  // Of the kind's main entry, in a step that follows another one.
  TrafficTimes(const rt::fb::Plan &kind, const Measurements &measured);

  // The mean over all runs of the instruction; none where the step does not run it, or is too long to be followed.
  std::optional<double> seconds(const rt::InstructionView &instruction) const;

private:
  struct Sum {
    double seconds = 0;
    uint64_t runs = 0;
  };
  // By the place of an instruction's first buffer, which is its own.
  std::unordered_map<const rt::fb::Buffer *, Sum> sums_;
};

} // namespace cleave::plan

#endif

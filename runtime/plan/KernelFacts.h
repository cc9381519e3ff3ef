// The facts of generated code that the plan's proof rests on, and their hash: what binds a plan to the code beside it.
//
// The extent says how many iterations there are to split over threads, the operands which bytes the code touches, and
// `depends` which of them a result is computed from. Only code generation knows these, so it writes their hash into the
// artefact beside the machine code. A plan repeats the hash for each kernel. openPlan() compares it with the plan's own
// table, and checkFacts() with the artefact's, so that a table which was changed, or which belongs to other code, is
// refused before anything runs.
//
//   KernelFacts::of(kernel).hash() == kernel.facts()     // else the plan is damaged
#ifndef CLEAVE_RUNTIME_PLAN_KERNELFACTS_H
#define CLEAVE_RUNTIME_PLAN_KERNELFACTS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan_generated.h"

#include <string>
#include <vector>

namespace cleave::rt {

struct KernelFacts {
  std::string name; // the label, which is the code's symbol but for the artefact's prefix
  uint64_t extent = 1;
  std::vector<uint64_t> depends; // Kernel.depends
  std::vector<fb::Operand> operands;

  static KernelFacts of(const fb::Kernel &kernel);
  static KernelFacts of(const fb::KernelT &kernel);
  uint64_t hash() const;
};

// Compares each generated kernel of all kinds of the plan with what the artefact says of its code: `facts[i]` is that of
// entry i of cleave_model.kernels. The plan must have passed openPlan().
Status checkFacts(const fb::Plan &plan, const uint64_t *facts, size_t count);
// Code for a device counts on more than its operands' types: on 16 bytes at a time where all launches of the plan that it
// was generated for allow that. Compares each launch with it: `alignments[i]` is cleave_device_kernel.alignments of entry
// i of the kernels, whose number checkFacts() has compared.
Status checkAlignments(const fb::Plan &plan, const std::vector<uint64_t> &alignments);

} // namespace cleave::rt

#endif

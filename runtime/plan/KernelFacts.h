// The facts about generated code that the proof of a plan relies on, and their hash, which binds a plan to its code.
//
// - The *code* is a hash of what the kernel computes: equal code has equal results. Two models may differ in nothing
//   else, for example in the epsilon of a normalization.
// - The *extent* is the number of iterations that may be split over threads.
// - The *operands* say which bytes the code touches.
// - `depends` says from which operands a result is computed.
//
// Only code generation knows these facts. It writes their hash into the artefact next to the machine code, and the plan
// repeats the hash for each kernel. openPlan() compares it with the plan's own table. checkFacts() compares it with the
// artefact's hash. So a table that was changed, or that belongs to other code, is refused before anything runs.
//
//   KernelFacts::of(kernel).hash() == kernel.facts()     // otherwise the plan is damaged
#ifndef CLEAVE_RUNTIME_PLAN_KERNELFACTS_H
#define CLEAVE_RUNTIME_PLAN_KERNELFACTS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan_generated.h"

#include <string>
#include <vector>

namespace cleave::rt {

struct KernelFacts {
  std::string name;  // the kernel's label: the symbol of its code without the artefact's prefix
  uint64_t code = 0; // Kernel.code
  uint64_t extent = 1;
  std::vector<uint64_t> depends; // Kernel.depends
  std::vector<fb::Operand> operands;

  static KernelFacts of(const fb::Kernel &kernel);
  static KernelFacts of(const fb::KernelT &kernel);
  uint64_t hash() const;
};

// Compares the hash of each generated kernel, of all kinds of ranks, with that of its code in the artefact. `facts[i]`
// belongs to entry i of cleave_model.kernels. The plan must have passed openPlan().
Status checkFacts(const fb::Plan &plan, const uint64_t *facts, size_t count);
// Compares the addresses of each launch with the alignments that the code of its kernel relies on. Code for a device
// may rely on more than the alignment of its operands' types: it moves 16 bytes at a time if all launches in the plan
// for which it was generated allow that. `alignments[i]` is cleave_device_kernel.alignments of kernel i. checkFacts()
// has compared the number of kernels before.
Status checkAlignments(const fb::Plan &plan, const std::vector<uint64_t> &alignments);

} // namespace cleave::rt

#endif

// What launches mean: a kernel is an unknown function of what it is and of the bytes that it reads.
//
// What a kernel *is* does not follow from the plan alone: a generated kernel's code comes beside the plan and does not
// change with it. So the facts of the unmutated plan are kept (Code), and a launch whose kernel table entry says
// otherwise is harmful by definition.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_KERNELS_H
#define CLEAVE_TEST_PLANNING_MUTATION_KERNELS_H

#include "test/compiler/Planning/mutation/Values.h"
#include "test/compiler/Planning/mutation/World.h"

#include <optional>

namespace cleave::mutation {

// One operand as the kernel treats it, whatever the launch's buffer says of its access.
struct OperandUse {
  bool reads, writes, isScratch;
  std::optional<size_t> over; // the operand in whose place this one may be written
};

std::vector<OperandUse> operandUses(const fb::Kernel &kernel);

// The kernels of an unmutated plan.
class Code {
public:
  explicit Code(const World &original);

  // What is wrong with a launch of that kernel; empty when nothing is.
  std::string objection(const World &world, unsigned kind, size_t kernel, const rt::InstructionView &launch) const;

private:
  std::map<size_t, Id> generated_;      // by the place in the machine code: what the table says of it
  std::map<Id, uint64_t> scratchBytes_; // of library kernels, by name and parameters: what was planned
};

// What the kernel leaves in each operand that it writes, of `read`, the bytes of all operands. Undefined: scratch.
std::vector<Bytes> launchResults(const World &world, unsigned kind, size_t kernel, const std::vector<OperandUse> &uses,
                                 const std::vector<Bytes> &operands);

} // namespace cleave::mutation

#endif

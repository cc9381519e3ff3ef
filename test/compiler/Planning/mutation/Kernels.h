// The meaning of launches: a kernel is an unknown function of its identity and of the bytes that it reads.
//
// The plan alone does not define a kernel's identity: the code of a generated kernel is not in the plan, and does not
// change with it. So Code stores the facts of the unmutated plan, and the symbol of the code, which kinds of ranks may
// share. A launch whose entry in the kernel table says something else is harmful by definition.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_KERNELS_H
#define CLEAVE_TEST_PLANNING_MUTATION_KERNELS_H

#include "test/compiler/Planning/mutation/Values.h"
#include "test/compiler/Planning/mutation/World.h"

#include <optional>

namespace cleave::mutation {

// How a kernel uses one operand, whatever access the launch's buffer states.
struct OperandUse {
  bool reads, writes, isScratch;
  std::optional<size_t> over; // the operand over which this one may be written
};

std::vector<OperandUse> operandUses(const fb::Kernel &kernel);

// The kernels of an unmutated plan.
class Code {
public:
  explicit Code(const World &original);

  // Describes what is wrong with a launch of that kernel. Empty if nothing is wrong.
  std::string objection(const World &world, unsigned kind, size_t kernel, const rt::InstructionView &launch) const;

  // Returns a name for what the kernel checks, if it is one that ends a run when a number that it reads is out of range.
  std::optional<Id> check(const World &world, unsigned kind, size_t kernel, const std::vector<Bytes> &operands) const;

  // Returns the bytes of each operand that the kernel writes, in order, after it has run. It must have passed
  // objection(). `operands` has the bytes of all operands before. Scratch becomes undefined.
  std::vector<Bytes> results(const World &world, unsigned kind, size_t kernel, const std::vector<OperandUse> &uses,
                             const std::vector<Bytes> &operands) const;

private:
  struct Generated {
    Id facts; // what the table says of the kernel
    std::string symbol;
  };
  std::map<size_t, Generated> generated_; // by index in the machine code
  std::map<Id, uint64_t> scratchBytes_;   // of library kernels, by name and parameters: the planned scratch
};

} // namespace cleave::mutation

#endif

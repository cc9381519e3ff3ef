// The effect of collectives on the bytes of their members, as runtime/plan/Instructions.def defines it.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_COLLECTIVES_H
#define CLEAVE_TEST_PLANNING_MUTATION_COLLECTIVES_H

#include "runtime/plan/InstructionView.h"
#include "test/compiler/Planning/mutation/Values.h"

#include <string>

namespace cleave::mutation {

// The part of `data` that a member reads or writes, or the whole staging buffer.
struct CollectivePart {
  size_t buffer; // 0: data, 1: staging
  uint64_t begin, length;
  bool writes;
};
std::vector<CollectivePart> partsOf(const rt::InstructionView &view, unsigned member, unsigned members);

// The reason why the instructions of two members are not one collective. Empty if they are.
std::string mismatch(const rt::InstructionView &a, const rt::InstructionView &b);

// The `data` of each member after the collective, computed from that before. It is undefined if it has no meaning any
// more.
std::vector<Bytes> collectiveResults(const rt::InstructionView &view, const std::vector<Bytes> &data);

} // namespace cleave::mutation

#endif

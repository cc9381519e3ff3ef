// What collectives do to the bytes of their members, by the definition in runtime/plan/Instructions.def.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_COLLECTIVES_H
#define CLEAVE_TEST_PLANNING_MUTATION_COLLECTIVES_H

#include "runtime/plan/InstructionView.h"
#include "test/compiler/Planning/mutation/Values.h"

#include <string>

namespace cleave::mutation {

// The part of `data` that a member reads or writes, and the whole staging.
struct CollectivePart {
  size_t buffer; // 0: data, 1: staging
  uint64_t begin, length;
  bool writes;
};
std::vector<CollectivePart> partsOf(const rt::InstructionView &view, unsigned member, unsigned members);

// Why two members' instructions are not one collective; empty when they are.
std::string mismatch(const rt::InstructionView &a, const rt::InstructionView &b);

// `data` of each member after the collective, of that before. Undefined where it means nothing any more.
std::vector<Bytes> collectiveResults(const rt::InstructionView &view, const std::vector<Bytes> &data);

} // namespace cleave::mutation

#endif

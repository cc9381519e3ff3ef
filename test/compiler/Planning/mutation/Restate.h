// Does what the worst forger does: makes the plan state the results of its instructions, with the verifier's own code,
// and seals it again.
//
// Such a plan proves its own statements (compiler/Planning/Verify/Rationale.md, "Forged plans"), and may compute
// anything. But if the verifier accepts it, its ranks end, no two accesses race, replicas stay equal, and all interleavings have the
// same outcome. Tests check this. If only the stated numbers prevent a forged plan from hanging, a test that keeps the
// numbers finds nothing.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_RESTATE_H
#define CLEAVE_TEST_PLANNING_MUTATION_RESTATE_H

#include "runtime/plan/Plan_generated.h"

#include <set>
#include <string>

namespace cleave::mutation {

// Seals mesh, batch, options, states, ports and regions as they are now. The plan keeps its number of bytes.
void sealDeclarations(rt::fb::PlanT &root);
// What the plan does not state, although a body changes it: a state, by program and name.
using Unstated = std::set<std::pair<std::string, std::string>>;
// Returns false if the reader refuses the plan, or if its ranks do not meet: then nothing can be stated.
bool restate(rt::fb::PlanT &root, const Unstated &unstated = {});

} // namespace cleave::mutation

#endif

// What the worst forger does: the plan states what its instructions leave, in numbers of the verifier's own code, and is sealed anew.
//
// Such a plan proves what it states (compiler/Planning/Rationale.md, "Forged plans"): it may compute anything. But if the verifier
// accepts it, its ranks end, no two accesses race, replicas stay equal, and its outcome is one in all interleavings. That is what tests
// ask of it. Where only the numbers of a plan stand between a forger and a hang, a test that keeps the numbers asks nothing.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_RESTATE_H
#define CLEAVE_TEST_PLANNING_MUTATION_RESTATE_H

#include "runtime/plan/Plan_generated.h"

namespace cleave::mutation {

// As many bytes as the plan had, sealed anew: mesh, batch, options, states, ports and regions as they are now.
void sealDeclarations(rt::fb::PlanT &root);
// False where the reader refuses the plan, or its ranks do not meet: then nothing can be stated.
bool restate(rt::fb::PlanT &root);

} // namespace cleave::mutation

#endif

// Checks that kernels use the bytes of states and ports as elements of the declared type, in a plan that a user gives
// to `cleave verify`. verifyPlan() does not check it, because the kernels of plans that tests write by hand have no
// types.
//
// The host converts what it feeds, loads and saves to the declared type. The numbers do not cover types: they say which
// kernel reads which bytes. So a port of i64 whose bytes a kernel reads as f32 would be fed wrong. Rule "type".
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_RULES_DECLAREDTYPES_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_RULES_DECLAREDTYPES_H

#include "compiler/Planning/Verify/PlanVerifier.h"

namespace cleave::plan {

// Checks the launches of all programs, of a plan with all its kinds.
void checkDeclaredTypes(const rt::fb::Plan &plan, std::vector<Finding> *findings);

} // namespace cleave::plan

#endif

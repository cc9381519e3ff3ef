// Part of verifyPlan(): checks the properties `needs.OUTPUT`, which name the inputs on which an output of `infer`
// depends.
//
// The host asks for no other inputs, and runs the program with zeros in their place. So an output must not depend on
// them. The check runs `infer` twice in the abstract: with its inputs, and with other values in the inputs that an
// output does not need. The number of an expression tells whether an input occurs in it, so the output must have the
// same number in both runs:
//
//   needs.logits = x        logits = f(x, w)         the same number with other labels: right
//   needs.logits =          logits = f(x, w)         another number with another x: rule "needs"
//
// Indices that are computed from such an input must not be checked: those of zeros may be out of range, and the run
// would fail. Zeros themselves are in range of every table.
//
// The proof may see a dependence where there is none: the values of one collective are one expression. So the compiler
// keeps only those properties that the check can follow (keep-proven-needs); without one, the host asks for all inputs.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_RULES_STATEDNEEDS_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_RULES_STATEDNEEDS_H

#include "compiler/Planning/Verify/PlanVerifier.h"

namespace cleave::plan {

// Names of properties that the check cannot follow, each with the reason.
using UnprovenNeeds = std::vector<std::pair<std::string, std::string>>;
UnprovenNeeds findUnprovenNeeds(const std::vector<const rt::fb::Plan *> &kinds);

// Checks a plan with all its kinds. The first kind states the properties.
void checkStatedNeeds(const std::vector<const rt::fb::Plan *> &kinds, std::vector<Finding> *findings);

} // namespace cleave::plan

#endif

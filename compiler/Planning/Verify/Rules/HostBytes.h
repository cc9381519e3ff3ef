// Part of verifyPlan(): checks that programs do not write to bytes that the host reads or writes between two programs.
//
// Only what a program leaves in states and in its own outputs has a number. Most other bytes may hold anything, because
// no program reads them before it writes them. But the host uses some of them. It feeds an input once for many runs
// (cleave_set_input). It may take an output after another program has run. It writes a checkpoint from the snapshot
// while training goes on. So rule "port" says: programs write to no input, to no output but their own, and to the
// snapshot's region only in the program `snapshot`.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_RULES_HOSTBYTES_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_RULES_HOSTBYTES_H

#include "compiler/Planning/Verify/PlanVerifier.h"

namespace cleave::plan {

// Checks an entry program and all that it calls.
void checkHostBytes(const rt::fb::Plan &plan, uint32_t entry, std::vector<Finding> *findings);

} // namespace cleave::plan

#endif

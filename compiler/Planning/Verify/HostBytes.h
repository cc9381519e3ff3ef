// Part of verifyPlan(): the bytes that the host reads or writes between two programs are left to it.
//
// A number says what a program leaves in states and in its own outputs. Nothing else that it leaves has a number, and most of it may be
// anything: no program reads it as it finds it. But the host does. It feeds an input once for many runs (cleave_set_input), takes an
// output when it likes, another program having run since, and writes a checkpoint from the snapshot while training goes on. So, rule
// "port": programs write to no input, to no output but their own, and to the snapshot's region only in the program `snapshot`.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_HOSTBYTES_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_HOSTBYTES_H

#include "compiler/Planning/Verify/PlanVerifier.h"

namespace cleave::plan {

// Of an entry program and all that it calls.
void checkHostBytes(const rt::fb::Plan &plan, uint32_t entry, std::vector<Finding> *findings);

} // namespace cleave::plan

#endif

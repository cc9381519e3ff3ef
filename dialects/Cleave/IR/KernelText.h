// What a kernel computes, as text: its body, the types of its operands and its ties.
//
// Kernels with equal texts have equal code, so they share a label (`name-kernels`) and are compiled once. A hash of the
// text goes into the plan and into the facts about the machine code (runtime/plan/KernelFacts.h). So two models that
// differ only inside a kernel are different plans.
//
// Labels and marks (attributes that the op does not define, such as cleave.block) are no part of it.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_KERNELTEXT_H
#define CLEAVE_DIALECTS_CLEAVE_IR_KERNELTEXT_H

#include "dialects/Cleave/IR/Cleave.h"

#include <cstdint>
#include <string>

namespace cleave {

// Removes what does not change the code: label and marks.
void dropMarks(KernelOp kernel);
// Returns the text of the kernel by itself. Its body is isolated, so values are numbered from its own start, and inputs
// have no names.
std::string textOf(KernelOp kernel);
// Returns a hash of the text.
uint64_t codeOf(KernelOp kernel);

// Returns true if both have equal texts. It prints neither.
bool haveEqualCode(KernelOp a, KernelOp b);

} // namespace cleave

#endif

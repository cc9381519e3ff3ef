// Converts what a plan's tables say to the facts of Meaning.h: of programs, groups, kinds of ranks, states, ports and
// kernels.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_PLANFACTS_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_PLANFACTS_H

#include "compiler/Planning/Verify/Facts/Meaning.h"
#include "runtime/plan/InstructionView.h"
#include "runtime/plan/Plan_generated.h"

#include <string_view>

namespace cleave::plan {

// True for the entry program of that name, which the host runs: "train_step", "evaluate", "init", ...
bool isEntry(const rt::fb::Program &program, std::string_view name);
// True if the plan trains: it has the entry program of a training step.
bool hasTrainingStep(const rt::fb::Plan &plan);
// A group's axes, and the coordinates of its members.
AxesFacts groupFacts(const rt::fb::Plan &plan, const rt::fb::Group &group);
// The ranks of a kind, as ranges on all axes of the mesh.
KindBox boxOf(const rt::fb::Plan &kind);
StateFacts stateFacts(const rt::fb::Plan &plan, const rt::fb::State &state);
PortFacts portFacts(const rt::fb::Plan &plan, const rt::fb::Port &port);
KernelComputation kernelComputation(const rt::fb::Kernel &kernel);
// Which operands of a kernel are scratch, in order. Empty for generated kernels, which have none.
std::vector<bool> scratchOperands(const rt::fb::Kernel &kernel);
// The facts of a send or a receive.
TransferFacts transferFacts(const rt::fb::Plan &plan, const rt::InstructionView &view);

} // namespace cleave::plan

#endif

// The state at the beginning of a run, and the visible part of its end.
//
// A run begins with states as their segments declare them (a value is known only by its segment and the position in
// it), and with inputs as they are fed. Visible are: every segment of every state that a checkpoint has or that the
// host reads, the outputs, the checkpoint that the program `snapshot` prepares, and what the plan tells the host about
// all of these. Also the bytes that belong to the host between programs: inputs as they were fed, other programs'
// outputs, the snapshot. A gradient, or a rank's part of a sum, is not visible, unless its bytes at the beginning can
// affect something visible: then it carries something from one step to the next.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_OBSERVATIONS_H
#define CLEAVE_TEST_PLANNING_MUTATION_OBSERVATIONS_H

#include "test/compiler/Planning/mutation/Machine.h"

#include <set>

namespace cleave::mutation {

using Observed = std::map<std::string, Id>;

// Fills the memory of all ranks. The values of the states in `renamed` get other names than usual.
void initialize(Machine &machine, const World &world, const std::string &entry, const std::set<std::string> &renamed);

// The visible values after the run of program `entry`. States in `unseen` are left out.
Observed observe(Machine &machine, const World &world, const std::string &entry, const std::set<std::string> &unseen);
// The statements of the plan to the host, which do not depend on any run.
Observed declared(const World &world);

// States that nobody reads between two runs: those that are in no checkpoint and that change.
std::set<std::string> scratchStates(const World &world);

} // namespace cleave::mutation

#endif

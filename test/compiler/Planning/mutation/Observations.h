// What a run begins with, and what of its end somebody can see.
//
// It begins with states as their segments declare them (nothing is known of a value but its segment, and the place in
// it) and with inputs as they are fed. What can be seen: every segment of every state that a checkpoint holds or that
// the host reads, the outputs, the checkpoint that the program `snapshot` prepares, and what the plan tells the host
// about all of these; and what belongs to the host between programs: inputs as they were fed, other programs' outputs, the snapshot. A gradient, or a rank's part of a sum, is not seen, unless what it holds at the start can reach
// what is seen: then it carries something from one step to the next.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_OBSERVATIONS_H
#define CLEAVE_TEST_PLANNING_MUTATION_OBSERVATIONS_H

#include "test/compiler/Planning/mutation/Machine.h"

#include <set>

namespace cleave::mutation {

using Observed = std::map<std::string, Id>;

// Fills the memory of all ranks. The values of the states named in `renamed` get other names than usual.
void initialize(Machine &machine, const World &world, const std::string &entry, const std::set<std::string> &renamed);

// After the run of program `entry`. States named in `unseen` are left out.
Observed observe(Machine &machine, const World &world, const std::string &entry, const std::set<std::string> &unseen);
// What the plan says to the host, whatever runs.
Observed declared(const World &world);

// States that nobody looks at between two runs: those that no checkpoint holds and that change.
std::set<std::string> scratchStates(const World &world);

} // namespace cleave::mutation

#endif

// The state at the beginning of a run, and the visible part of its end.
//
// A run begins with states as their segments declare them (a value is known only by its segment and the position in
// it), and with inputs in the frames that the host feeds (runtime/plan/FeedMemory.h). Visible are: every segment of
// every state that a checkpoint has or that the host reads, the outputs, the checkpoint that the program `snapshot`
// prepares, the numbers that kernels check (one out of range ends the run), and what the plan tells the host about all
// of these. A gradient, or a rank's part of a sum, is not visible,
// unless its bytes at the beginning can affect something visible: then it carries something from one step to the next.
//
// Some things hold for the end of every run, whatever it computes. Visible bytes have a value. Ranks that have the same
// part of a state or an output have the same bytes of it: the host takes any rank's. Bytes that belong to the host
// between programs (inputs, other programs' outputs, the snapshot) are as they were.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_OBSERVATIONS_H
#define CLEAVE_TEST_PLANNING_MUTATION_OBSERVATIONS_H

#include "test/compiler/Planning/mutation/Machine.h"

#include <set>

namespace cleave::mutation {

using Observed = std::map<std::string, Id>;

// What gets other values than usual at the beginning of a run, to find out what the run depends on.
struct Renamed {
  std::set<std::string> states;
  bool ofOthers = false; // the inputs and outputs of other programs, and the snapshot
};

// Fills the memory of all ranks.
void initialize(Machine &machine, const World &world, const std::string &entry, const Renamed &renamed);

// The bytes of the host that program `entry` must leave as they are.
Observed hostBytes(Machine &machine, const World &world, const std::string &entry);
// The visible values after the run of program `entry`. States in `unseen` are left out.
Observed observe(Machine &machine, const World &world, const std::string &entry, const std::set<std::string> &unseen);
// Describes a visible value that has bytes without a value, or that differs from another rank's. Empty if there is none.
std::string objection(Machine &machine, const World &world, const std::string &entry,
                      const std::set<std::string> &unseen);
// The statements of the plan to the host, which do not depend on any run.
Observed declared(const World &world);

// States that nobody reads between two runs: those that are in no checkpoint and that change.
std::set<std::string> scratchStates(const World &world);

} // namespace cleave::mutation

#endif

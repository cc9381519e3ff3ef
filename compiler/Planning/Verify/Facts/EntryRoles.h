// Which states an entry program may read first (as it finds them), and which it may change.
//
// No plan knows when the host runs its entry programs. A user evaluates between training steps, or loads weights and
// only evaluates. `init` runs at the start, and again when a checkpoint is loaded. A checkpoint is written after any
// program. The results must be the same in all these cases. So the role of a state decides:
//
//                                     read first by                               changed by
//   parameters, buffers               train_step, evaluate, infer, init if no     train_step, init if no step trains
//                                     step trains
//   optimizer state                   train_step                                  train_step
//   scalar.seed, scalar.step          train_step, evaluate, infer                 the host
//   scalar.lr, scalar.clip_norm       train_step                                  the host
//   sums of an evaluation             evaluate                                    evaluate
//   other scalars                     train_step                                  train_step
//   constants, coordinates            all                                         all, but see below
//   gradients, copies of buffers      train_step                                  all, but see below
//
// What no checkpoint holds (the last two lines, and terms of sums) may be changed by any program, if nobody reads it
// first: RankKindVerifier::checkCarried. `init` changes states only by packing them, because results are stated over what
// the host has loaded. `snapshot` copies states, so it may read all. So may programs of other names, because the host
// does not run them. Neither of them changes what a checkpoint holds.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_ENTRYROLES_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_ENTRYROLES_H

#include "runtime/plan/Plan_generated.h"

#include <string>

namespace cleave::plan {

// The role of one entry program of a plan.
class EntryRole {
public:
  EntryRole(const rt::fb::Plan &plan, const rt::fb::Program &entry);

  // If the program may not read the state first, or not change it, these return who may: "train_step", "the host".
  // Otherwise they return an empty text.
  std::string expectedReaders(const rt::fb::State &state) const;
  std::string expectedWriters(const rt::fb::State &state) const;

private:
  std::string textOfOthers(unsigned allowed) const;

  bool trains_;   // the plan has a training step
  unsigned self_; // bit of the program
};

} // namespace cleave::plan

#endif

// The random numbers of programs that do not train. A number depends on a seed, a step and its element's place in the
// tensor (cleave.random_uniform). Training counts steps. Evaluation and inference have one step for each run of their
// program, so no two batches get the same numbers, and a repeated command gets the same numbers again:
//
//   train_step  seed: train --seed       step 1, 2, ...
//   evaluate    seed: kEvaluationSeed    step 0, 1, ... for the batches of an evaluation
//   infer       seed: 0                  step 0, 1, ... for the batches of a command, or the calls of a session
//   generate    seed: generate --seed    step 0, 1, ... for the tokens
#ifndef CLEAVE_RUNTIME_SESSION_DRAWNNUMBERS_H
#define CLEAVE_RUNTIME_SESSION_DRAWNNUMBERS_H

#include "runtime/plan/ScalarNames.h"
#include "runtime/session/ScalarStates.h"

namespace cleave::rt {

// Another seed than those that people give: otherwise the first batches would get the numbers of the first steps.
inline constexpr int64_t kEvaluationSeed = 0x5DEECE66D1CE4E5B;
inline constexpr int64_t kInferenceSeed = 0;

class DrawnNumbers {
public:
  DrawnNumbers() = default;
  DrawnNumbers(Session &session, int64_t seed)
      : seedState_(session, kSeedScalar), stepState_(session, kStepScalar), seed_(seed) {}

  void restart() { runs_ = 0; }
  // Gives the next run of the program its numbers. train_step writes both scalars before each step, so this leaves no
  // trace in training.
  void next() {
    seedState_.setInteger(seed_);
    stepState_.setInteger(runs_++);
  }

private:
  ScalarState seedState_, stepState_;
  int64_t seed_ = 0, runs_ = 0;
};

} // namespace cleave::rt

#endif

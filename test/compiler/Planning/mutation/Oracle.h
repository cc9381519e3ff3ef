// Judges whether a mutated plan still does what the original did: the independent reference for `cleave verify`.
//
//   Oracle oracle;
//   std::string problem = Oracle::open(original, &oracle);   // empty: the original itself is sound
//   Verdict verdict = oracle.judge(mutant);                  // both have passed rt::openPlan()
//   verdict.isHarmful, verdict.why
//
// It shares nothing with the verifier: it enumerates ranks, executes every entry program symbolically on all of them in
// a number of adversarial interleavings, and compares what can be seen at the end with the original's. So it proves
// harm by showing it; that nothing was shown is no proof of harmlessness, only the absence of a counterexample in the
// interleavings tried. Rejected: vector clocks, which would make it a second verifier with the same blind spots.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_ORACLE_H
#define CLEAVE_TEST_PLANNING_MUTATION_ORACLE_H

#include "test/compiler/Planning/mutation/Observations.h"

#include <memory>

namespace cleave::mutation {

struct Verdict {
  bool isHarmful = false;
  std::string why; // of a harmful one: the program, the interleaving, and what differs or fails
};

class Oracle {
public:
  // Empty when the plan's outcome is the same in all interleavings and nothing fails; else what is wrong with it.
  static std::string open(const fb::Plan &original, std::unique_ptr<Oracle> *result);

  Verdict judge(const fb::Plan &mutant) const;

private:
  explicit Oracle(const fb::Plan &original) : world_(original), code_(world_) {}
  std::string learn();

  World world_;
  Code code_;
  std::set<std::string> unseen_;
  Observed declared_;
  std::map<std::string, Observed> expected_; // by entry program
};

// The interleavings tried of a plan with so many ranks and streams.
std::vector<Policy> policies(unsigned ranks, unsigned streams);

} // namespace cleave::mutation

#endif

// Judges whether a mutated plan still does the same as the original. It is the independent reference for `cleave
// verify`.
//
//   Oracle oracle;
//   std::string problem = Oracle::open(original, &oracle);   // empty: the original itself is sound
//   Verdict verdict = oracle.judge(mutant);                  // both have passed rt::openPlan()
//   verdict.isHarmful, verdict.why
//
// It shares no rule with the verifier. Both use the reader of plans, and what the runtime says of the host: which
// frames it feeds, which states it saves, and where a snapshot lies
// (runtime/plan/{FeedMemory,SavedState,Snapshot}.h). An error there is one of the runtime, and the tests of running
// programs must find it. The oracle enumerates ranks, executes every entry program symbolically on all of them in
// several adversarial interleavings, and compares the visible results with those of the original. So it proves harm
// by showing it. If it shows no harm, this is no proof of harmlessness: there is only no counterexample in the
// interleavings that it tried. Rejected: vector clocks, which would make it a second verifier with the same blind
// spots.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_ORACLE_H
#define CLEAVE_TEST_PLANNING_MUTATION_ORACLE_H

#include "test/compiler/Planning/mutation/Observations.h"

#include <memory>

namespace cleave::mutation {

struct Verdict {
  bool isHarmful = false;
  std::string why; // for a harmful one: the program, the interleaving, and the difference or failure
};

class Oracle {
public:
  // Returns an empty text if the plan's outcome is the same in all interleavings, without a failure, and with what must
  // hold for every outcome (Observations.h). Otherwise it returns what is wrong.
  static std::string open(const fb::Plan &original, std::unique_ptr<Oracle> *result);

  Verdict judge(const fb::Plan &mutant) const;

private:
  explicit Oracle(const fb::Plan &original) : world_(original), code_(world_) {}
  std::string learn();
  std::string findCarried();
  // Runs a program of `world` in one interleaving. Returns a failure, or what is wrong with the outcome in any case.
  std::string run(Machine &machine, const World &world, const std::string &entry, const Policy &policy,
                  const Renamed &renamed, Observed *observed) const;
  // Runs all programs of the original, in issue order.
  std::string runAll(const Renamed &renamed, std::map<std::string, Observed> *outcome) const;

  World world_;
  Code code_;
  std::set<std::string> unseen_;
  Observed declared_;
  std::map<std::string, Observed> expected_; // by entry program
};

// The interleavings that are tried for a plan with this number of ranks and streams.
std::vector<Policy> policies(unsigned ranks, unsigned streams);

} // namespace cleave::mutation

#endif

// Kinds of mutation of which the verifier accepts harmful mutants, with the reason: the only list of them. Now empty.
//
// A kind that is listed is tried all the same, and its numbers are printed; only its accepted mutants do not fail the
// test. A list that gets shorter is progress, one that gets longer needs a reason of its own.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_KNOWNGAPS_H
#define CLEAVE_TEST_PLANNING_MUTATION_KNOWNGAPS_H

#include <string>
#include <vector>

namespace cleave::mutation {

struct KnownGap {
  std::string reason;
  std::vector<std::string> kinds;
};

inline const std::vector<KnownGap> &knownGaps() {
  static const std::vector<KnownGap> gaps = {}; // e.g. {"the reason", {"drop copy"}}
  return gaps;
}

} // namespace cleave::mutation

#endif

// The kinds of mutation of which the verifier accepts harmful mutants, with the reason. This is the only list of them.
// It is empty now.
//
// A kind in the list is tried like the others, and its numbers are printed, but its accepted mutants do not fail the
// test. A shorter list is progress. A new entry needs a reason.
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

// Runs all bodies of a plan by themselves (Bodies.h), before entries are run. Finds the numbers of their results, and
// the axes along which values that cross bodies and ranks may differ.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_BODYRUNS_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_BODYRUNS_H

#include "compiler/Planning/Verify/Order/Meetings.h"
#include "compiler/Planning/Verify/Values/AlikeKinds.h"
#include "compiler/Planning/Verify/Values/PlanMeaning.h"

#include <memory>

namespace cleave::plan {

// True if values cross bodies or ranks. Then calls are not run one by one.
bool hasBodies(const std::vector<const rt::fb::Plan *> &kinds);

class BodyRuns {
public:
  // Runs each body that an entry calls, until what is known of axes is stable. Runs none if an entry is too long.
  explicit BodyRuns(const std::vector<const rt::fb::Plan *> &kinds);

  // Returns the name of that entry, or an empty text.
  const std::string &tooLong() const { return meetings_.tooLong; }

  const BodyFacts &factsOf(size_t kind) const { return runsOfKinds_[kind].facts; }
  // Returns the runs and their programs, in the order in which these are first called.
  std::vector<std::pair<uint32_t, std::unique_ptr<PlanMeaning>>> &runsOf(size_t kind) {
    return runsOfKinds_[kind].runs;
  }

  // Returns two kinds that meet in collectives of bodies and are not alike, if there are such kinds.
  const std::optional<std::pair<size_t, size_t>> &unlike() const { return unlike_; }

private:
  struct KindRuns {
    BodyFacts facts;
    std::vector<std::pair<uint32_t, std::unique_ptr<PlanMeaning>>> runs;
    std::vector<ValueNumber> assumed; // for each run: what was known of axes when it ran
    size_t next = 0;                  // the first of the runs that has not run
  };

  void addBodies(size_t kind);
  bool isWaiting(size_t kind) const;
  void run(size_t kind, size_t body);
  ValueNumber assumedBy(size_t kind, size_t body) const;
  void learn(size_t kind, PlanMeaning &run);
  void tellReceivers(const KindRef &send, AxisMask varies);
  bool isRead(size_t kind, const std::string &state) const;
  KindOfBodies whatItDoes(size_t kind);
  void findAlike();

  const std::vector<const rt::fb::Plan *> &kinds_;
  std::vector<KindBox> boxes_;
  const Meetings meetings_;
  std::vector<KindRuns> runsOfKinds_;
  std::optional<std::pair<size_t, size_t>> unlike_;
};

} // namespace cleave::plan

#endif

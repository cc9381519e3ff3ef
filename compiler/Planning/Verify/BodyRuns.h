// Runs of all bodies of a plan by themselves (Bodies.h), before entries are run: numbers of what they leave, and the
// axes along which what crosses bodies and ranks may differ.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_BODYRUNS_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_BODYRUNS_H

#include "compiler/Planning/Verify/AlikeKinds.h"
#include "compiler/Planning/Verify/Meetings.h"
#include "compiler/Planning/Verify/PlanMeaning.h"

#include <memory>

namespace cleave::plan {

// Whether values cross bodies or ranks: then calls are not run one by one.
bool hasBodies(const std::vector<const rt::fb::Plan *> &kinds);

class BodyRuns {
public:
  // Runs each body that an entry calls until what is known of axes stays; none where an entry is too long.
  explicit BodyRuns(const std::vector<const rt::fb::Plan *> &kinds);

  // That entry's name, or an empty text.
  const std::string &tooLong() const { return meetings_.tooLong; }

  const BodyFacts &factsOf(size_t kind) const { return ofKinds_[kind].facts; }
  // By program, in the order in which they are first called.
  std::vector<std::pair<uint32_t, std::unique_ptr<PlanMeaning>>> &runsOf(size_t kind) { return ofKinds_[kind].runs; }

  // Two kinds that meet in collectives of bodies, and are not alike.
  const std::optional<std::pair<size_t, size_t>> &unlike() const { return unlike_; }

private:
  struct OfKind {
    BodyFacts facts;
    std::vector<std::pair<uint32_t, std::unique_ptr<PlanMeaning>>> runs;
    std::vector<ValueNumber> assumed; // of each run: what was known of axes when it ran
    size_t next = 0;               // of the runs: the first that has not run
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
  std::vector<OfKind> ofKinds_;
  std::optional<std::pair<size_t, size_t>> unlike_;
};

} // namespace cleave::plan

#endif

// Part of checkMeaning(): two kinds of ranks leave the same in what both have.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_RANKKINDCOMPARISON_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_RANKKINDCOMPARISON_H

#include "compiler/Planning/Verify/Values/RankKindVerifier.h"

namespace cleave::plan {

// Compares what two kinds leave: a state that both have is one state, and an output that both have is one output.
class RankKindComparison {
public:
  // `ofA` and `ofB` are the programs of one name.
  RankKindComparison(RankKindVerifier &a, uint32_t ofA, RankKindVerifier &b, uint32_t ofB,
                     std::vector<Finding> *findings);

  void compareStates();
  void compareOutputs();

private:
  void expect(bool holds, const std::string &what);

  RankKindVerifier &a_, &b_;
  const rt::fb::Program &programA_, &programB_;
  PlanMeaning &runA_, &runB_;
  AxisMask between_; // on these axes, no rank of one kind has a coordinate of the other
  bool callAlike_;
  std::vector<Finding> *findings_;
};

} // namespace cleave::plan

#endif

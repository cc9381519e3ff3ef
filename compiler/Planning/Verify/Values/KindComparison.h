// Part of checkMeaning(): two kinds of ranks leave the same in what both have.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_KINDCOMPARISON_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_KINDCOMPARISON_H

#include "compiler/Planning/Verify/Values/KindCheck.h"

namespace cleave::plan {

// Compares what two kinds leave: a state that both have is one state, and an output that both have is one output.
class KindComparison {
public:
  // `ofA` and `ofB` are the programs of one name.
  KindComparison(KindCheck &a, uint32_t ofA, KindCheck &b, uint32_t ofB, std::vector<Finding> *findings);

  void compareStates();
  void compareOutputs();

private:
  void expect(bool holds, const std::string &what);

  KindCheck &a_, &b_;
  const rt::fb::Program &programA_, &programB_;
  PlanMeaning &runA_, &runB_;
  AxisMask between_; // on these axes, no rank of one kind has a coordinate of the other
  bool callAlike_;
  std::vector<Finding> *findings_;
};

} // namespace cleave::plan

#endif

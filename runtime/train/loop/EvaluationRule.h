// How the loss is computed from the sums of an evaluation. The compiler writes these properties of the plan
// (SplitLoss.cpp):
//
//   evaluate.divisor  "plus 1", "at-least 10", "where le 0 then 1", and lists of them: how the model changes the count
//                     before it divides by it. This is done once, to the count of the whole pass.
//   evaluate.count    "mean": the count of a batch is a mean. The sum of these counts over B batches is B times the
//                     mean of all, so the numbers of the divisor are multiplied by B.
//   evaluate.batches  "whole": the loss is not a sum over samples divided by a count. Examples are the root of a mean,
//                     a contrastive loss, and two losses that each divide by the number of labels that they count. Such
//                     a loss has no value for a batch that is not full. So does a model that draws random numbers:
//                     copies of a sample add different numbers.
#ifndef CLEAVE_RUNTIME_TRAIN_LOOP_EVALUATIONRULE_H
#define CLEAVE_RUNTIME_TRAIN_LOOP_EVALUATIONRULE_H

#include "runtime/base/Status.h"
#include "runtime/plan/PlanReader.h"

#include <string>
#include <vector>

namespace cleave::rt {

class EvaluationRule {
public:
  static Status read(const fb::Plan &plan, EvaluationRule *result);

  // The divisor of the sum, for a count that was summed over `batches` batches.
  double divisorOf(double count, double batches) const;
  bool hasWholeBatches() const { return wholeBatches_; }

private:
  struct Guard {
    std::string kind;      // plus, at-least, where
    std::string predicate; // of where
    double number = 0, other = 0;
  };
  static Status readGuard(const std::string &text, Guard *guard);

  std::vector<Guard> guards_; // the first is the innermost
  bool countsMeans_ = false, wholeBatches_ = false;
};

} // namespace cleave::rt

#endif

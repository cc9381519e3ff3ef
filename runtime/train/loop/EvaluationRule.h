// How the sums of an evaluation become its loss, as properties of the plan that the compiler writes (SplitLoss.cpp):
//
//   evaluate.divisor  "plus 1", "at-least 10", "where le 0 then 1", and lists of them: what the model does to the count
//                     before it divides by it. It acts once, on the count of the whole pass.
//   evaluate.count    "mean": the count of a batch is a mean. The sum of such counts over B batches is B times the mean
//                     of all, and so the numbers of the divisor are B times what they say.
//   evaluate.batches  "whole": the loss is not a sum over samples divided by a count (the root of a mean, a contrastive
//                     loss, two losses that each divide by the labels that they count), so that it has no value for a
//                     batch that is not full.
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

  // What the sum is divided by, for the count that `batches` batches have together.
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

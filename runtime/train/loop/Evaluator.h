// Runs the program `evaluate` over the validation data: the mean loss, and the accuracy if the model has classes.
//
// The program adds a batch to scalar.eval_*, summed over ranks. The host reads these sums after each batch and adds
// them in double. Every sample counts once, whatever the batch size is. Suppose that T samples are left for the last
// batch of G. Then the last batch but one has these T samples and G - T copies of the last sample, and the last batch
// has G copies of it. The sums of the last batch tell how much a copy adds:
//
//   sum of the T = sum of the first - (G - T) / G * sum of the second
//
// If the loss of the last sample is infinite, the sum of the T is too.
//
// This is valid if the loss is a sum over samples, divided by a count that is such a sum too. For any other loss (the
// plan says so: EvaluationRule.h), the T samples are left out, and a line of the log says it. If the model prevents a
// count of zero, this is done once, with the count of the whole pass. Rejected: a mask over samples inside of the
// program, because a loss that is written by primitives has no place for it.
#ifndef CLEAVE_RUNTIME_TRAIN_LOOP_EVALUATOR_H
#define CLEAVE_RUNTIME_TRAIN_LOOP_EVALUATOR_H

#include "runtime/session/DrawnNumbers.h"
#include "runtime/session/ScalarStates.h"
#include "runtime/train/data/DataSet.h"
#include "runtime/train/loop/EvaluationRule.h"

namespace cleave::rt {

struct Evaluation {
  double loss = 0;
  std::optional<double> accuracy; // NaN if the loss is: scores that are not numbers predict nothing
  uint64_t samples = 0;
};

// The sums that the program computes: of losses, of their divisors, of right predictions, and of all predictions.
struct EvaluationSums {
  double loss = 0, count = 0, correct = 0, predictions = 0;

  void add(const EvaluationSums &other);
  // Subtracts a part of sums whose samples were added before. An infinite sum stays infinite: infinite terms are not
  // subtracted, because inf - inf is no number.
  void takeBack(const EvaluationSums &other, double part);
};

// The program's scalars.
class EvaluationScalars {
public:
  static Status open(Session &session, EvaluationScalars *result);
  void clear() const;
  // All processes must call it.
  Status read(Session &session, EvaluationSums *sums) const;
  bool hasAccuracy() const { return correct_.exists() && predictions_.exists(); }

private:
  ScalarState loss_, count_, correct_, predictions_;
};

class Evaluator {
public:
  static Status open(Session &session, const std::vector<std::string> &specs, const char *option, Evaluator *result);
  Status run(Evaluation *result);
  uint64_t samples() const { return feed_->samples(); }
  const DataSet &data() const { return *data_; }

  // After a run that has failed: whether all processes have ended it for the same reason.
  bool failedTogether() const { return failedTogether_; }

private:
  void noteTail(const char *option) const;
  Status runBatch(EvaluationSums *sums);
  bool noteNonFinite();

  Session *session_ = nullptr;
  const fb::Program *program_ = nullptr;
  std::unique_ptr<DataSet> data_;
  std::unique_ptr<InputFeed> feed_;
  EvaluationScalars scalars_;
  EvaluationRule rule_;
  DrawnNumbers numbers_;
  bool weightsSeen_ = false; // whether they are finite
  bool failedTogether_ = false;
};

} // namespace cleave::rt

#endif

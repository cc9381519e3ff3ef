// A pass over the validation data with the program `evaluate`: mean loss, and accuracy where the model has classes.
//
// The program adds a batch to scalar.eval_*, summed over ranks; the host takes the sums after each batch and adds them
// in double. Every sample counts once, whatever the batch: with T samples left for a batch of G, the last two batches
// are those T and G - T copies of the last sample, and G copies of it. The sums of the second tell what a copy adds:
//
//   sum of the T = sum of the first - (G - T) / G * sum of the second
//
// Where the last sample's loss is infinite, so is the sum of the T.
//
// That holds where the loss is a sum over samples, divided by a count that is one too. For any other loss (the plan
// says so: EvaluationRule.h) the T samples are left out, and a line of the log says it. Where the model keeps the count
// from zero, it does so once, with the count of the whole pass. Rejected: a mask over samples inside the program, which
// a loss written by primitives has no place for.
#ifndef CLEAVE_RUNTIME_TRAIN_LOOP_EVALUATOR_H
#define CLEAVE_RUNTIME_TRAIN_LOOP_EVALUATOR_H

#include "runtime/session/ScalarStates.h"
#include "runtime/train/data/DataSet.h"
#include "runtime/train/loop/EvaluationRule.h"

namespace cleave::rt {

struct Evaluation {
  double loss = 0;
  std::optional<double> accuracy;
  uint64_t samples = 0;
};

// What the program adds up: of the losses, of what they are divided by, of predictions that are right, of predictions.
struct EvaluationSums {
  double loss = 0, count = 0, correct = 0, predictions = 0;

  void add(const EvaluationSums &other);
  // Takes a part of sums away whose samples were added before. What is not finite has made a sum so for good: it stays
  // infinite, and inf - inf would be no number.
  void takeBack(const EvaluationSums &other, double part);
};

// The program's scalars.
class EvaluationScalars {
public:
  static Status open(Session &session, EvaluationScalars *result);
  void clear() const;
  // All processes call it.
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
};

} // namespace cleave::rt

#endif

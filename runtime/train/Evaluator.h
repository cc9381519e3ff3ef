// A pass over the validation data with the program `evaluate`: mean loss, and accuracy where the model has classes.
//
// The program adds each batch to scalar.eval_*, already summed over ranks; the host zeroes them before a pass. With
// --last-batch drop the samples beyond the last whole global batch are left out, with pad some count twice.
#ifndef CLEAVE_RUNTIME_TRAIN_EVALUATOR_H
#define CLEAVE_RUNTIME_TRAIN_EVALUATOR_H

#include "runtime/train/DataSet.h"
#include "runtime/train/ScalarStates.h"

namespace cleave::rt {

struct Evaluation {
  double loss = 0;
  std::optional<double> accuracy;
  uint64_t samples = 0;
};

class Evaluator {
public:
  static Status open(Session &session, const std::vector<std::string> &specs, const char *option, LastBatch last,
                     Evaluator *result);
  Status run(Evaluation *result);

private:
  Session *session_ = nullptr;
  const fb::Program *program_ = nullptr;
  std::unique_ptr<DataSet> data_;
  std::unique_ptr<InputFeed> feed_;
  ScalarState lossSum_, count_, correct_, predictions_;
};

} // namespace cleave::rt

#endif

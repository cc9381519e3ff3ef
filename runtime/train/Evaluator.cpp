#include "runtime/train/Evaluator.h"

namespace cleave::rt {

Status Evaluator::open(Session &session, const std::vector<std::string> &specs, const char *option, LastBatch last,
                       Evaluator *result) {
  Evaluator evaluator;
  evaluator.session_ = &session;
  CLEAVE_TRY(session.entry("evaluate", &evaluator.program_));
  evaluator.data_ = std::make_unique<DataSet>();
  CLEAVE_TRY(DataSet::open(*evaluator.program_, specs, option, evaluator.data_.get()));
  CLEAVE_TRY(InputFeed::open(session, *evaluator.program_, inputFrames(session.plan(), *evaluator.program_),
                             *evaluator.data_, /*seed=*/0, /*shuffle=*/false, last, 0, 0, option, &evaluator.feed_));
  evaluator.lossSum_ = ScalarState(session, "scalar.eval_loss_sum");
  evaluator.count_ = ScalarState(session, "scalar.eval_count");
  evaluator.correct_ = ScalarState(session, "scalar.eval_correct");
  evaluator.predictions_ = ScalarState(session, "scalar.eval_predictions");
  if (!evaluator.lossSum_.exists() || !evaluator.count_.exists())
    return internal("the program 'evaluate' has no scalar.eval_loss_sum and scalar.eval_count");
  *result = std::move(evaluator);
  return Status::ok();
}

Status Evaluator::run(Evaluation *result) {
  for (const ScalarState *scalar : {&lossSum_, &count_, &correct_, &predictions_})
    scalar->set(0);
  for (uint64_t batch = 0; batch < feed_->batchesPerEpoch(); ++batch) {
    feed_->advance();
    CLEAVE_TRY(session_->forEach([this](unsigned local, Rank &rank) {
      CLEAVE_TRY(feed_->fill(local, rank));
      return rank.run(*program_);
    }));
  }
  result->samples = feed_->batchesPerEpoch() * feed_->globalBatch();
  result->loss = *lossSum_.get() / *count_.get();
  std::optional<double> correct = correct_.get(), predictions = predictions_.get();
  if (correct && predictions && *predictions > 0)
    result->accuracy = *correct / *predictions;
  return Status::ok();
}

} // namespace cleave::rt

#include "runtime/train/loop/Evaluator.h"

#include "runtime/base/Log.h"
#include "runtime/comm/Communicator.h"
#include "runtime/plan/ScalarNames.h"
#include "runtime/session/ProgramBatch.h"

#include <cmath>
#include <utility>

namespace cleave::rt {

void EvaluationSums::add(const EvaluationSums &other) {
  loss += other.loss;
  count += other.count;
  correct += other.correct;
  predictions += other.predictions;
}

void EvaluationSums::takeBack(const EvaluationSums &other, double part) {
  auto take = [part](double &sum, double added) { sum -= std::isfinite(added) ? part * added : 0; };
  take(loss, other.loss);
  take(count, other.count);
  take(correct, other.correct);
  take(predictions, other.predictions);
}

Status EvaluationScalars::open(Session &session, EvaluationScalars *result) {
  result->loss_ = ScalarState(session, kEvalLossSumScalar);
  result->count_ = ScalarState(session, kEvalCountScalar);
  result->correct_ = ScalarState(session, kEvalCorrectScalar);
  result->predictions_ = ScalarState(session, kEvalPredictionsScalar);
  if (!result->loss_.exists() || !result->count_.exists())
    return internal("the program 'evaluate' has no scalar.eval_loss_sum and scalar.eval_count");
  return Status::ok();
}

void EvaluationScalars::clear() const {
  for (const ScalarState *scalar : {&loss_, &count_, &correct_, &predictions_})
    scalar->set(0);
}

Status EvaluationScalars::read(Session &session, EvaluationSums *sums) const {
  std::optional<double> loss, count, correct, predictions;
  CLEAVE_TRY(
      readScalars(session, {{&loss_, &loss}, {&count_, &count}, {&correct_, &correct}, {&predictions_, &predictions}}));
  *sums = {loss.value_or(0), count.value_or(0), correct.value_or(0), predictions.value_or(0)};
  return Status::ok();
}

Status Evaluator::open(Session &session, const std::vector<std::string> &specs, const char *option, Evaluator *result) {
  Evaluator evaluator;
  evaluator.session_ = &session;
  CLEAVE_TRY(session.entry("evaluate", &evaluator.program_));
  evaluator.data_ = std::make_unique<DataSet>();
  CLEAVE_TRY(EvaluationRule::read(session.plan(), &evaluator.rule_));
  CLEAVE_TRY(DataSet::open(*evaluator.program_, specs, option, evaluator.data_.get()));
  CLEAVE_TRY(evaluator.data_->agree(session, option));
  LastBatch last = evaluator.rule_.hasWholeBatches() ? LastBatch::Leave : LastBatch::Measure;
  CLEAVE_TRY(InputFeed::open(session, *evaluator.program_, inputFrames(session.plan(), *evaluator.program_),
                             *evaluator.data_, /*seed=*/0, /*shuffle=*/false, last, 0, 0, option, &evaluator.feed_));
  evaluator.noteTail(option);
  CLEAVE_TRY(EvaluationScalars::open(session, &evaluator.scalars_));
  evaluator.numbers_ = DrawnNumbers(session, kEvaluationSeed);
  *result = std::move(evaluator);
  return Status::ok();
}

void Evaluator::noteTail(const char *option) const {
  uint64_t tail = feed_->tail();
  if (tail == 0 || !rule_.hasWholeBatches() || !session_->isLeader())
    return;
  std::string batch = std::to_string(feed_->globalBatch());
  log(LogLevel::Warning, -1,
      std::string(option) +
          ": the loss is not a sum over samples divided by a count, or the model draws random numbers, so it is " +
          "evaluated in whole batches of " + batch +
          ", and their mean is given (weighted by their counts, if it is divided by one count); the last " +
          std::to_string(tail) + " of " + std::to_string(feed_->samples()) +
          " samples are left out. Give a multiple of " + batch + " samples to use all of them");
}

Status Evaluator::runBatch(EvaluationSums *sums) {
  scalars_.clear();
  numbers_.next();
  feed_->advance();
  if (feed_->canFail()) {
    Status fits = session_->agree(feed_->check(), "use its part of the data", kControlChannel, &failedTogether_);
    failedTogether_ &= !fits.isOk();
    CLEAVE_TRY(std::move(fits));
  }
  CLEAVE_TRY(session_->forEach([this](unsigned local, Rank &rank) {
    CLEAVE_TRY(feed_->fill(local, rank));
    return rank.run(*program_, Rank::Inputs::Fed);
  }));
  return scalars_.read(*session_, sums);
}

// Reports which value of the batch's data, or else which weight, makes the loss infinite or not a number. False if all
// are finite. All processes must call it, and get the same answer.
bool Evaluator::noteNonFinite() {
  std::string data = feed_->findNonFinite().text, weight;
  if (data.empty() && !std::exchange(weightsSeen_, true)) {
    if (session_->isLeader()) // the weights are read from their file again, and not all processes may still have it
      weight = session_->findNonFiniteWeight();
    session_->share(&weight);
  }
  std::string note = data.empty() ? weight + ": so the loss is not finite"
                                  : data + ": so the loss of all samples is not finite either";
  bool isFound = !data.empty() || !weight.empty();
  if (isFound && session_->isLeader())
    log(LogLevel::Warning, -1, note);
  return isFound;
}

Status Evaluator::run(Evaluation *result) {
  EvaluationSums total, batch;
  uint64_t tail = rule_.hasWholeBatches() ? 0 : feed_->tail(), batches = feed_->batchesPerEpoch();
  bool isTold = false;
  numbers_.restart(); // the losses of all evaluations can be compared
  for (uint64_t i = 0; i < batches; ++i) {
    CLEAVE_TRY(runBatch(&batch));
    if (!isTold && !std::isfinite(batch.loss))
      isTold = noteNonFinite();
    double filled = static_cast<double>(feed_->globalBatch() - tail) / static_cast<double>(feed_->globalBatch());
    if (tail != 0 && i + 1 == batches)
      total.takeBack(batch, filled);
    else
      total.add(batch);
  }
  result->samples = rule_.hasWholeBatches() ? batches * feed_->globalBatch() : feed_->samples();
  if (!std::isfinite(total.loss) && !isTold && session_->isLeader())
    log(LogLevel::Warning, -1,
        "the loss is not finite, and no value of the data or of the weights that were loaded is the reason: the "
        "numbers "
        "that the model computes are too large. If these weights were trained, train with a smaller learning rate "
        "(--lr), or take an earlier checkpoint");
  double divisor =
      rule_.divisorOf(total.count, static_cast<double>(result->samples) / static_cast<double>(feed_->globalBatch()));
  if (divisor == 0)
    return dataLoss("no sample counts: every label is one that the loss ignores");
  result->loss = total.loss / divisor;
  if (scalars_.hasAccuracy() && total.predictions > 0)
    result->accuracy = std::isnan(total.loss) ? total.loss : total.correct / total.predictions;
  return Status::ok();
}

} // namespace cleave::rt

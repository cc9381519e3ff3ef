#include "runtime/train/loop/TrainLoop.h"

#include "runtime/base/Counted.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Termination.h"
#include "runtime/base/Trace.h"
#include "runtime/comm/Communicator.h"
#include "runtime/session/MemoryUsage.h"
#include "runtime/train/loop/FiniteStep.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <limits>

namespace cleave::rt {
namespace {

std::string formatLoss(double loss) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4f", loss);
  return text;
}

std::string signalName(int signal) {
  return signal == SIGINT ? "SIGINT" : signal == SIGHUP ? "SIGHUP" : signal == SIGPIPE ? "SIGPIPE" : "SIGTERM";
}

std::string stoppedEarly(const TrainingPosition &position) {
  return "stopped early: no better loss in " + counted(position.stale, "evaluation");
}

std::string describe(const Evaluation &evaluation) {
  std::string text = "val loss " + formatLoss(evaluation.loss);
  if (evaluation.accuracy)
    text += "  accuracy " + percent(*evaluation.accuracy);
  return text + "  (" + counted(evaluation.samples, "sample") + ")";
}

} // namespace

Status TrainLoop::run() {
  printStart();
  bool stop = position_.step >= total_ || outOfPatience();
  if (stop && session_->isLeader())
    std::printf("nothing to do: %s\n", whyNothing().c_str());
  sentBefore_ = session_->bytesSent(); // the traffic before training does not count for the first step
  CLEAVE_TRY(readScalars(*session_, {{&lossScale_, &firstScale_}}));
  while (!stop) {
    StepMetrics metrics;
    bool epochEnds = false;
    std::string place = "step " + std::to_string(position_.step + 1);
    CLEAVE_TRY(ofLostRank(step(&metrics, &epochEnds).in(place)));
    CLEAVE_TRY(ofLostRank(finishStep(&metrics, epochEnds, &stop)));
  }
  progress_->finish();
  if (!saver_)
    return checkLearned();
  if (savedStep_ != position_.step)
    CLEAVE_TRY(save(/*isBest=*/false, /*isDue=*/true));
  CLEAVE_TRY(ofSave(saver_->finish()));
  noteSaved();
  if (stoppedBy_)
    progress_->note("stopped by " + signalName(stoppedBy_) + " after step " + std::to_string(position_.step) + " of " +
                    std::to_string(total_) + "; --resume auto goes on from there");
  return checkLearned();
}

// If a rank is lost, the error says from where training can go on.
Status TrainLoop::ofLostRank(Status status) const {
  std::string latest;
  if (status.code() != Code::PeerLost || options_.save.empty() || !readPointer(options_.save, "latest", &latest).isOk())
    return status;
  return {Code::PeerLost, status.message() + (latest.empty() ? "; no checkpoint was saved before (--save-every N)"
                                                             : "; --resume auto goes on from " + latest)};
}

// Fails if no step of the run has changed the parameters. A dynamic loss scale becomes smaller until steps succeed, so
// that a longer run learns.
Status TrainLoop::checkLearned() const {
  if (stoppedBy_)
    return Status::ok();
  if (stepsWithoutLabels_ != 0 && stepsWithoutLabels_ >= position_.step)
    return invalidArgument("nothing was learned: all labels are ignored in " + counted(stepsWithoutLabels_, "step") +
                           "; check the labels of --data, and --loss-ignore-index of the compiler");
  if (skippedInARow_ == 0 || skippedInARow_ < times_.count())
    return Status::ok();
  std::string skipped = "nothing was learned: the gradients have overflowed in " +
                        (skippedInARow_ == 1 ? "the only step" : "all " + counted(skippedInARow_, "step"));
  if (isScaleFixed_)
    return invalidArgument(skipped + "; compile with a smaller --loss-scale, or without it");
  if (session_->isLeader())
    log(LogLevel::Warning, -1, skipped + "; the loss scale becomes smaller until steps succeed: give more steps");
  return Status::ok();
}

// An infinite loss, or one that is not a number, in the first step after a checkpoint is a result of its weights.
Status TrainLoop::ofResumed(Status status) const {
  if (status.isOk() || !resumed_ || times_.count() != 1)
    return status;
  return {status.code(), status.message() + "; if " + resumedFrom_ +
                             " was saved after steps that were too large, --resume an earlier checkpoint"};
}

// Says why no step is trained.
std::string TrainLoop::whyNothing() const {
  std::string at = "the checkpoint is at step " + std::to_string(position_.step);
  if (position_.step < total_)
    return stoppedEarly(position_) + "; " + at + " of " + std::to_string(total_);
  uint64_t epochs = options_.epochs.value_or(1);
  std::string wanted = "--steps " + std::to_string(total_) + " asks for " + counted(total_, "step");
  if (!options_.steps)
    wanted = (options_.epochs ? "--epochs " + std::to_string(epochs) + " asks for "
                              : "without --steps or --epochs a training has ") +
             counted(epochs, "epoch");
  return at + ", and " + wanted + " in all, including those before the checkpoint: give more";
}

void TrainLoop::printStart() const {
  if (!session_->isLeader())
    return;
  std::printf("training %s: %s, global batch %llu, %s, %s per epoch, %s\n", printable(session_->modelName()).c_str(),
              counted(session_->dataRanks(), "data rank").c_str(),
              static_cast<unsigned long long>(feed_->globalBatch()), counted(feed_->samples(), "sample").c_str(),
              counted(feed_->batchesPerEpoch(), "step").c_str(), counted(total_, "step").c_str());
  if (resumed_)
    std::printf("resumed at step %llu, from %s\n", static_cast<unsigned long long>(position_.step),
                printable(resumedFrom_).c_str());
  if (schedule_.warmup > total_)
    std::printf("note: --lr-schedule: the warm-up takes %llu steps and training ends at %llu: --lr is never reached\n",
                static_cast<unsigned long long>(schedule_.warmup), static_cast<unsigned long long>(total_));
  if (schedule_.steps != 0 && schedule_.steps < total_)
    std::printf("note: --lr-schedule: it ends at step %llu of %llu; from there on the learning rate is %g\n",
                static_cast<unsigned long long>(schedule_.steps), static_cast<unsigned long long>(total_),
                schedule_.min);
  std::fflush(stdout);
}

Status TrainLoop::step(StepMetrics *metrics, bool *epochEnds) {
  uint64_t begin = TraceSink::now();
  const Batch &batch = feed_->advance();
  // Processes that save hear of wrong data of another one before they begin the step: then all save the step before.
  Status fits = feed_->check();
  bool haveAnswered = false;
  if (saver_ && feed_->canFail())
    fits = session_->agree(std::move(fits), "use its part of the data", kControlChannel, &haveAnswered);
  if (!fits.isOk())
    return saveBefore(std::move(fits), haveAnswered);
  double lr = schedule_.rate(lr_, position_.step, batch.epoch, total_);
  writeScalars(lr);
  CLEAVE_TRY(session_->forEach([this](unsigned local, Rank &rank) {
    CLEAVE_TRY(feed_->fill(local, rank));
    return rank.run(*program_, Rank::Inputs::Fed);
  }));
  uint64_t end = TraceSink::now();
  double seconds = static_cast<double>(end - begin) / 1e9;
  ++position_.step;
  times_.add(seconds);
  session_->traceStep(position_.step, begin, end);
  position_.epoch = batch.nextEpoch;
  position_.sample = batch.nextPosition;
  *epochEnds = batch.nextEpoch != batch.epoch;
  metrics->step = position_.step;
  metrics->lr = lr;
  metrics->epoch = batch.epoch + 1;
  metrics->stepS = seconds;
  metrics->samplesPerS = static_cast<double>(feed_->globalBatch()) / seconds;
  if (tokensPerSample_ != 0)
    metrics->tokensPerS = tokensPerSample_ * static_cast<double>(feed_->globalBatch()) / seconds;
  CLEAVE_TRY(readResults(metrics));
  CLEAVE_TRY(ofResumed(checkFinite(
      metrics->loss, metrics->gradNorm, metrics->lossScale, [this] { return feed_->findNonFinite(); },
      [this] { return session_->findNonFiniteWeight(); })));
  CLEAVE_TRY(noteSkipped(*metrics));
  stepsWithoutLabels_ += isUndefined(metrics->loss, metrics->gradNorm) && metrics->gradNorm == 0.0;
  if (isUndefined(metrics->loss, metrics->gradNorm))
    progress_->note("step " + std::to_string(metrics->step) +
                    (metrics->gradNorm == 0.0
                         ? "  all labels are ignored, so it has no gradient"
                         : "  the loss is not a number, but its gradient is finite: all labels of a rank or of a "
                           "micro-batch are ignored, or a term is undefined, such as 0 * log(0)"));
  // The first step fills caches, and says little about later steps.
  smoothStep_ = smoothStep_ == 0 || metrics->step <= 2 ? seconds : 0.9 * smoothStep_ + 0.1 * seconds;
  return Status::ok();
}

// Reports a skipped step. Fails if gradients still overflow at the smallest scale: then the scale is not the reason.
Status TrainLoop::noteSkipped(const StepMetrics &metrics) {
  isScaleFixed_ &= metrics.lossScale == firstScale_;
  if (!metrics.lossScale || !metrics.skipped || *metrics.skipped <= skippedBefore_) {
    skippedInARow_ = 0;
    return Status::ok();
  }
  skippedBefore_ = *metrics.skipped;
  ++skippedInARow_;
  char text[100];
  std::snprintf(text, sizeof text, "skipped (gradients overflow), loss scale %s%g", isScaleFixed_ ? "" : "now ",
                *metrics.lossScale);
  progress_->note("step " + std::to_string(metrics.step) + "  " + text);
  constexpr double kSmallest = 1.0 / (1 << 24);
  constexpr unsigned kMostInARow = 40; // enough halvings from every scale in range
  if (*metrics.lossScale >= kSmallest && skippedInARow_ < kMostInARow)
    return Status::ok();
  std::string many = "gradients were infinite or undefined in " + std::to_string(skippedInARow_) + " steps in a row";
  if (std::string input = feed_->findNonFinite().text; !input.empty())
    return dataLoss(many + "; " + input + ": take such samples out of the data, or replace the value");
  if (std::string weight = session_->findNonFiniteWeight(); !weight.empty())
    return dataLoss(many + ", because " + weight + "; begin with other weights");
  return dataLoss(many + "; give a smaller --lr, --clip-grad-norm or loss scale, and look for such "
                         "values in --data");
}

void TrainLoop::writeScalars(double lr) {
  lrState_.set(lr);
  stepState_.setInteger(static_cast<int64_t>(position_.step + 1));
  seedState_.setInteger(static_cast<int64_t>(position_.seed));
  clipState_.set(options_.clipGradNorm.value_or(std::numeric_limits<double>::infinity()));
}

Status TrainLoop::readResults(StepMetrics *metrics) {
  std::optional<double> loss, skipped;
  CLEAVE_TRY(readScalars(
      *session_,
      {{&loss_, &loss}, {&gradNorm_, &metrics->gradNorm}, {&lossScale_, &metrics->lossScale}, {&skipped_, &skipped}}));
  metrics->loss = loss.value_or(0);
  if (skipped)
    metrics->skipped = static_cast<uint64_t>(*skipped);
  metrics->peakBytes = memoryUsage().peak;
  uint64_t sent = session_->bytesSent();
  metrics->commBytes = sent - sentBefore_;
  sentBefore_ = sent;
  return Status::ok();
}

Status TrainLoop::finishStep(StepMetrics *metrics, bool epochEnds, bool *stop) {
  bool last = position_.step >= total_;
  bool evaluates = options_.evalEvery ? position_.step % options_.evalEvery == 0 : epochEnds;
  bool isBest = false;
  double samplesPerS = static_cast<double>(feed_->globalBatch()) / smoothStep_;
  progress_->step(*metrics, tokensPerSample_ != 0 ? samplesPerS * tokensPerSample_ : samplesPerS, smoothStep_);
  Status evaluated = evaluator_ && (evaluates || last) ? evaluate(metrics, &isBest) : Status::ok();
  Status logged = writeLogs(*metrics); // an error ends the run after the step is saved
  if (!evaluated.isOk())
    return saveBefore(std::move(evaluated), evaluator_->failedTogether());
  *stop = last || outOfPatience();
  if (*stop && !last)
    progress_->note(stoppedEarly(position_));
  if (!*stop)
    CLEAVE_TRY(heedSignals(stop));
  bool saves = options_.saveEvery != 0 && position_.step % options_.saveEvery == 0;
  if (saver_)
    CLEAVE_TRY(ofSave(saver_->poll()));
  noteSaved();
  // Other processes do not know of the error, so a step that is not due can be saved only by a process alone.
  bool isDue = saves || *stop || (!logged.isOk() && !session_->processes());
  if (saver_ && (isDue || (isBest && options_.saveBest)))
    CLEAVE_TRY(save(isBest && options_.saveBest, isDue));
  return logged;
}

Status TrainLoop::writeLogs(const StepMetrics &metrics) {
  CLEAVE_TRY(metricsFile_.write(metrics).in("--metrics"));
  return tensorboard_.write(metrics).in("--tensorboard");
}

// A signal may reach processes at different steps, or only one of them. So they ask each other about four times a
// second. They agree on the next step for this each time, and all end at the same step.
Status TrainLoop::heedSignals(bool *stop) {
  if (!saver_ || !endsInOrder())
    return Status::ok();
  auto heard = static_cast<uint32_t>(endRequested());
  if (Communicator *processes = session_->processes()) {
    if (position_.step < meetingStep_)
      return Status::ok();
    constexpr uint32_t kEnd = 1u << 31, kLongest = 1000;
    constexpr double kSecondsBetween = 0.25;
    auto pause = static_cast<uint32_t>(std::clamp(kSecondsBetween / smoothStep_, 1.0, double{kLongest}));
    uint32_t said = 0;
    CLEAVE_TRY(processes->maximum(heard ? kEnd + heard : pause, &said, kControlChannel));
    heard = said > kEnd ? said - kEnd : 0;
    meetingStep_ = position_.step + said;
  }
  stoppedBy_ = static_cast<int>(heard);
  *stop = heard != 0;
  return Status::ok();
}

Status TrainLoop::evaluate(StepMetrics *metrics, bool *isBest) {
  Evaluation evaluation;
  CLEAVE_TRY(evaluator_->run(&evaluation).in("evaluation"));
  metrics->valLoss = evaluation.loss;
  metrics->valAccuracy = evaluation.accuracy;
  *isBest = std::isfinite(evaluation.loss) && (!position_.hasBest || evaluation.loss < position_.bestLoss);
  position_.stale = *isBest ? 0 : position_.stale + 1;
  if (*isBest) {
    position_.hasBest = true;
    position_.bestLoss = evaluation.loss;
  }
  sentBefore_ = session_->bytesSent();
  progress_->note("step " + std::to_string(position_.step) + "  " + describe(evaluation) + (*isBest ? "  best" : ""));
  return Status::ok();
}

// The error of a checkpoint that was not written. It says which one is whole, if a write has failed, as on a full disk.
Status TrainLoop::ofSave(Status status) const {
  std::string latest;
  if (status.isOk() || status.code() != Code::IoError || !readPointer(options_.save, "latest", &latest).isOk() ||
      latest.empty())
    return std::move(status).in("--save");
  return Status(status.code(),
                status.message() + "; checkpoints before this one are whole: --resume auto goes on from " + latest)
      .in("--save");
}

Status TrainLoop::save(bool isBest, bool isDue) {
  SaveRequest request{options_.save, options_.checkpoint, position_, isBest, options_.keep, run_};
  request.isOnlyBest = !isDue;
  request.keepBest = options_.keepBest.value_or(1);
  request.ofRun = ofRun_;
  request.lock = &saveLock_;
  CLEAVE_TRY(ofSave(saver_->save(std::move(request))));
  savedStep_ = position_.step;
  sentBefore_ = session_->bytesSent();
  noteSaved();
  return Status::ok();
}

// Saves the last step before an error ends the run that has left the states as they were: of data, or of an evaluation.
// Processes save together, so they do it only if all know of the error (`isAgreed`).
Status TrainLoop::saveBefore(Status error, bool isAgreed) {
  if (!saver_ || (session_->processes() && !isAgreed))
    return error;
  Status saved = savedStep_ == position_.step ? Status::ok() : save(/*isBest=*/false, /*isDue=*/true);
  if (saved.isOk())
    saved = ofSave(saver_->finish());
  noteSaved();
  if (!saved.isOk())
    log(LogLevel::Warning, -1, saved.message());
  return error;
}

void TrainLoop::noteSaved() {
  if (!saver_)
    return;
  for (const std::string &path : saver_->takeSaved())
    progress_->note("saved " + path);
}

} // namespace cleave::rt

// The training of a model, from the first step (or a checkpoint) to the last.
//
// In one step, the reader's next global batch is copied to the input frames, the host writes the step's scalars, every
// rank runs `train_step`, and the results are read. Everything else (evaluating, saving, stopping early) happens
// between steps. Its decisions depend only on numbers that are equal on all ranks, so processes never disagree.
//
//   TrainLoop loop;
//   CLEAVE_TRY(TrainLoop::open(session, options, &loop));
//   CLEAVE_TRY(loop.run());
#ifndef CLEAVE_RUNTIME_TRAIN_LOOP_TRAINLOOP_H
#define CLEAVE_RUNTIME_TRAIN_LOOP_TRAINLOOP_H

#include "runtime/train/checkpoint/CheckpointSaver.h"
#include "runtime/train/checkpoint/RunFacts.h"
#include "runtime/train/loop/Evaluator.h"
#include "runtime/train/loop/LearningRateSchedule.h"
#include "runtime/train/loop/Progress.h"
#include "runtime/train/loop/StepTimes.h"
#include "runtime/train/loop/TensorBoard.h"
#include "runtime/train/loop/TrainOptions.h"

namespace cleave::rt {

class TrainLoop {
public:
  // `session` must outlive the loop. All options and files are checked here, before the first step.
  static Status open(Session &session, const TrainOptions &options, TrainLoop *result);
  Status run();

  const TrainingPosition &position() const { return position_; }
  // The checkpoint from which the run continues; empty: none.
  const std::string &resumedFrom() const { return resumedFrom_; }
  const StepTimes &stepTimes() const { return times_; }
  // The signal that has ended run() before its last step (Termination.h), after everything was saved; 0: none.
  int stoppedBy() const { return stoppedBy_; }

private:
  Status openData();
  Status countSteps();
  Status agreeOnOptions();
  Status checkShared(const std::string &directory);
  Status openSave();
  Status openSaver();
  Status checkSaveSpace();
  Status resume();
  Status loadLatest(bool *found);
  Status resumeBest();
  Status noteOtherRun() const;
  void describeData();
  void nameRun();
  Status compareRuns();
  void compareBest();
  Status openOutputs();
  Status checkScalars();
  void printStart() const;
  std::string whyNothing() const;
  Status step(StepMetrics *metrics, bool *epochEnds);
  void writeScalars(double lr);
  Status readResults(StepMetrics *metrics);
  Status noteSkipped(const StepMetrics &metrics);
  Status ofLostRank(Status status) const;
  Status checkLearned() const;
  Status ofResumed(Status status) const;
  Status evaluate(StepMetrics *metrics, bool *isBest);
  Status save(bool isBest, bool isDue);
  Status ofSave(Status status) const;
  Status saveBefore(Status error, bool isAgreed);
  void noteSaved();
  Status finishStep(StepMetrics *metrics, bool epochEnds, bool *stop);
  Status writeLogs(const StepMetrics &metrics);
  Status heedSignals(bool *stop);
  bool outOfPatience() const { return options_.patience != 0 && position_.stale >= options_.patience; }

  Session *session_ = nullptr;
  TrainOptions options_;
  const fb::Program *program_ = nullptr;
  LearningRateSchedule schedule_;
  double lr_ = 0;
  uint64_t total_ = 0;
  double tokensPerSample_ = 0; // 0: the model's input is not tokens
  std::unique_ptr<DataSet> data_;
  std::unique_ptr<InputFeed> feed_;
  std::optional<Evaluator> evaluator_;
  TrainingPosition position_;
  bool resumed_ = false, resumedInPlace_ = false; // in place: the checkpoint is in the directory of --save
  std::string resumedFrom_;                       // the checkpoint
  RunFacts resumedRun_, run_;
  uint64_t resumedIdentity_ = 0;
  uint64_t savedStep_ = 0;
  NewDirectories saveDirectories_;
  CheckpointLock saveLock_;
  std::shared_ptr<RunCheckpoints> ofRun_ = std::make_shared<RunCheckpoints>();
  std::unique_ptr<CheckpointSaver> saver_;

  ScalarState lrState_, stepState_, seedState_, clipState_, loss_, gradNorm_, lossScale_, skipped_;
  std::unique_ptr<Progress> progress_;
  MetricsFile metricsFile_;
  TensorBoard tensorboard_;
  double smoothStep_ = 0;
  StepTimes times_; // of this run
  uint64_t stepsWithoutLabels_ = 0;
  uint64_t sentBefore_ = 0;
  uint64_t skippedBefore_ = 0;
  std::optional<double> firstScale_; // the loss scale before the first step of this run
  bool isScaleFixed_ = true;         // as far as the steps of this run show
  unsigned skippedInARow_ = 0;
  int stoppedBy_ = 0;
  uint64_t meetingStep_ = 0; // the next step at which processes ask each other for signals
};

} // namespace cleave::rt

#endif

// Prepares a training run before its first step. All mistakes in options and files are found here.
#include "runtime/base/Counted.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Log.h"
#include "runtime/base/NumberRange.h"
#include "runtime/base/OptionText.h"
#include "runtime/comm/Communicator.h"
#include "runtime/plan/FeedMemory.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/Properties.h"
#include "runtime/plan/ScalarNames.h"
#include "runtime/plan/Tokens.h"
#include "runtime/session/SameRun.h"
#include "runtime/state/Checkpoint.h"
#include "runtime/train/checkpoint/DiskSpace.h"
#include "runtime/train/loop/TrainLoop.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <sys/statvfs.h>

namespace cleave::rt {
namespace {

double defaultRate(const fb::Plan &plan) {
  double rate = 0;
  return parseReal(propertyOf(plan, kRateProperty), &rate) && rate > 0 ? rate : kDefaultRate;
}

template <typename T> std::string asText(const T &value) {
  if constexpr (std::is_floating_point_v<T>) {
    return realText(value);
  } else {
    return std::to_string(value);
  }
}
template <typename T> std::string asText(const std::optional<T> &value) { return value ? asText(*value) : ""; }

// For a resumed run, to be called when it is known whether the run saves the best.
Status checkKeepBest(const TrainOptions &options) {
  return options.keepBest && !options.saveBest ? invalidArgument("--keep-best needs --save-best") : Status::ok();
}

// Returns the name of the first option that is given; null if none is.
const char *firstOf(std::initializer_list<std::pair<bool, const char *>> options) {
  for (const auto &[isGiven, name] : options)
    if (isGiven)
      return name;
  return nullptr;
}

Status checkOptions(const TrainOptions &options) {
  if (options.epochs && options.steps)
    return invalidArgument("--epochs: give it or --steps, not both");
  if (options.steps == uint64_t{0} || options.epochs == uint64_t{0})
    return invalidArgument(std::string(options.steps ? "--steps" : "--epochs") +
                           ": expected a whole number from 1; got: 0 (evaluate computes the loss without training)");
  if (options.lr && !isNumberFrom(*options.lr, 0))
    return invalidArgument("--lr: expected a number of 0 or more (in f32); got: " + realText(*options.lr));
  if (options.clipGradNorm && !isNumberAbove(*options.clipGradNorm, 0))
    return invalidArgument("--clip-grad-norm: expected a positive number (in f32); got: " +
                           realText(*options.clipGradNorm));
  if (options.logEvery == 0)
    return invalidArgument("--log-every: expected a whole number from 1; got: 0");
  if (const char *needs = firstOf({{options.evalEvery != 0, "--eval-every"},
                                   {options.patience != 0, "--patience"},
                                   {options.saveBest, "--save-best"}});
      needs && options.valData.empty())
    return invalidArgument(std::string(needs) + ": it needs --val-data INPUT=FILE, which is evaluated");
  if (options.resume.empty())
    CLEAVE_TRY(checkKeepBest(options));
  if (const char *needs = firstOf({{options.saveEvery != 0, "--save-every"},
                                   {options.keep != 0, "--keep"},
                                   {options.saveBest, "--save-best"},
                                   {options.saveAsync.value_or(false), "--save-async"},
                                   {options.checkpoint != CheckpointForm::Sharded, "--checkpoint"}});
      needs && options.save.empty())
    return invalidArgument(std::string(needs) + ": it needs --save DIR, where checkpoints go");
  if (options.save.empty() && options.resume == "auto")
    return invalidArgument("--resume auto needs --save DIR");
  return Status::ok();
}

} // namespace

Status TrainLoop::open(Session &session, const TrainOptions &options, TrainLoop *result) {
  TrainLoop loop;
  loop.session_ = &session;
  loop.options_ = options;
  CLEAVE_TRY(session.entry("train_step", &loop.program_));
  CLEAVE_TRY(checkOptions(options));
  CLEAVE_TRY(parseLearningRateSchedule(options.lrSchedule, &loop.schedule_).in("--lr-schedule"));
  CLEAVE_TRY(loop.agreeOnOptions());
  CLEAVE_TRY(loop.checkScalars());
  CLEAVE_TRY(loop.openSave().in("--save"));
  CLEAVE_TRY(loop.openSaver());
  CLEAVE_TRY(loop.resume());
  CLEAVE_TRY(session.agree(loop.noteOtherRun().in("--save"), "open the directory"));
  CLEAVE_TRY(session.agree(checkKeepBest(loop.options_), "go on"));
  CLEAVE_TRY(loop.openData());
  CLEAVE_TRY(loop.checkSaveSpace().in("--save"));
  CLEAVE_TRY(loop.compareRuns());
  CLEAVE_TRY(loop.openOutputs());
  *result = std::move(loop);
  return Status::ok();
}

// Processes with different options would train something that nobody asked for, or wait for each other.
Status TrainLoop::agreeOnOptions() {
  const TrainOptions &o = options_;
  SameRun same;
  same.add("--epochs", asText(o.epochs));
  same.add("--steps", asText(o.steps));
  same.add("--seed", asText(o.seed));
  same.add("--no-shuffle", asText(o.shuffle));
  same.add("--last-batch", asText(static_cast<int>(o.lastBatch)));
  same.add("--lr", asText(o.lr));
  same.add("--lr-schedule", o.lrSchedule);
  same.add("--clip-grad-norm", asText(o.clipGradNorm));
  same.add("--data", textWithoutFiles(o.data));
  same.add("--val-data", textWithoutFiles(o.valData));
  same.add("--eval-every", asText(o.evalEvery));
  same.add("--patience", asText(o.patience));
  same.add("--save", asText(!o.save.empty()));
  same.add("--save-every", asText(o.saveEvery));
  same.add("--save-best", asText(o.saveBest));
  same.add("--save-async", asText(o.saveAsync));
  same.add("--checkpoint", asText(static_cast<int>(o.checkpoint)));
  same.add("--resume", asText(!o.resume.empty()));
  return same.check(*session_);
}

Status TrainLoop::checkScalars() {
  lrState_ = ScalarState(*session_, kRateScalar);
  stepState_ = ScalarState(*session_, kStepScalar);
  seedState_ = ScalarState(*session_, kSeedScalar);
  clipState_ = ScalarState(*session_, kClipNormScalar);
  loss_ = ScalarState(*session_, kLossScalar);
  gradNorm_ = ScalarState(*session_, kGradNormScalar);
  lossScale_ = ScalarState(*session_, kLossScaleScalar);
  if (lossScale_.exists()) // otherwise no step is skipped, and the state has those of an earlier run
    skipped_ = ScalarState(*session_, kSkippedScalar);
  lr_ = options_.lr.value_or(defaultRate(session_->plan()));
  if (schedule_.min > lr_)
    return invalidArgument("--lr-schedule: the rate falls to min, which is above --lr " + realText(lr_));
  if (!loss_.exists())
    return internal("the plan has no state scalar.loss");
  if (options_.clipGradNorm && !clipState_.exists())
    return invalidArgument("--clip-grad-norm: this model was compiled without gradient clipping (it has no "
                           "scalar.clip_norm); leave the option out, or compile the model again");
  return Status::ok();
}

// If processes write their parts into different directories, there is no whole checkpoint anywhere.
Status TrainLoop::checkShared(const std::string &directory) {
  Communicator *processes = session_->processes();
  if (!processes)
    return Status::ok();
  DirectoryMark mark;
  uint64_t number = 0;
  CLEAVE_TRY(session_->agree(session_->isLeader() ? mark.make(directory, &number) : Status::ok(), "write there"));
  CLEAVE_TRY(processes->broadcast(&number, sizeof number, 0));
  return session_->agree(DirectoryMark::find(directory, number), "see the directory of the first one");
}

// For a run that does not continue in the directory of --save. Checkpoints that cannot be seen are not replaced.
Status TrainLoop::noteOtherRun() const {
  if (options_.save.empty() || resumedInPlace_ || !session_->isLeader())
    return Status::ok();
  std::string other;
  Status found = resolveCheckpoint(options_.save, &other);
  if (found.isOk())
    log(LogLevel::Warning, -1,
        "--save: " + options_.save + " has checkpoints of another run (" + other +
            "). This run replaces those that have the same step numbers, and removes no other; --resume auto would " +
            "continue that run");
  return found.code() == Code::NotFound ? Status::ok() : found;
}

// A program reads its weights from NAME.weights. Its checkpoints there would be taken for weights, and the other way.
static Status checkNoWeights(const std::string &directory) {
  std::filesystem::path path = std::filesystem::path(directory) / "";
  std::error_code error;
  if (path.parent_path().extension() != ".weights" || !std::filesystem::exists(path / "model.safetensors", error))
    return Status::ok();
  return invalidArgument("'" + directory + "' has the weights of a program; give another directory for checkpoints");
}

// Checks whether checkpoints can be written, before an hour of training and not after it.
Status TrainLoop::openSave() {
  if (options_.save.empty())
    return Status::ok();
  Status status;
  if (session_->isLeader()) {
    status = checkNoWeights(options_.save);
    if (status.isOk())
      status = NewDirectories::make(options_.save, &saveDirectories_);
    if (status.isOk())
      status = CheckpointSave::probe(options_.save);
    if (status.isOk())
      status = CheckpointLock::take(options_.save, &saveLock_);
    if (status.isOk())
      status = recoverCheckpoints(options_.save);
  }
  CLEAVE_TRY(session_->agree(std::move(status), "open the directory"));
  if (options_.checkpoint == CheckpointForm::Sharded)
    CLEAVE_TRY(checkShared(options_.save));
  return Status::ok();
}

Status TrainLoop::openSaver() {
  if (options_.save.empty())
    return Status::ok();
  saver_ = std::make_unique<CheckpointSaver>();
  bool async = options_.saveAsync.value_or(findProgram(session_->plan(), "snapshot") != nullptr);
  return CheckpointSaver::open(*session_, async, saver_.get());
}

// Only the leader's file system counts, because all parts are written there. A file system that does not report its
// size is accepted.
Status TrainLoop::checkSaveSpace() {
  if (options_.save.empty())
    return Status::ok();
  Status status;
  std::string note;
  struct statvfs space;
  if (session_->isLeader() && ::statvfs(options_.save.c_str(), &space) == 0 && space.f_blocks != 0) {
    uint64_t bytes = 0, block = space.f_frsize;
    SavePlan plan{position_.step, total_, options_.saveEvery, options_.keep, ofRun_->size()};
    status = checkpointBytes(session_->plan(), options_.checkpoint, run_, block, &bytes);
    if (status.isOk())
      status = checkSpace(plan, bytes, space.f_bavail * block, &note).in(options_.save);
  }
  CLEAVE_TRY(session_->agree(std::move(status), "save"));
  if (!note.empty())
    log(LogLevel::Warning, -1, "--save: " + options_.save + ": " + note);
  return Status::ok();
}

// If the checkpoint is damaged and another one in its directory is whole, returns "; --resume DIR/step-... takes the
// newest whole one beside it".
static std::string wholeBeside(const std::string &path) {
  auto isWhole = [](const std::string &each) {
    Checkpoint checkpoint;
    return Checkpoint::open(each, &checkpoint).isOk() && checkpoint.verify().isOk();
  };
  if (isWhole(path))
    return "";
  std::string directory = std::filesystem::path(path + "/").parent_path().parent_path().string();
  if (directory.empty())
    directory = ".";
  std::vector<std::string> names = listCheckpoints(directory);
  for (size_t i = names.size(); i-- > 0;)
    if (isWhole(directory + "/" + names[i]))
      return "; --resume " + directory + "/" + names[i] + " takes the newest whole one beside it";
  return "";
}

// Fills the states from the checkpoint of --resume. `found` is false if --resume is `auto` and there is no checkpoint
// yet.
Status TrainLoop::loadLatest(bool *found) {
  std::string path = options_.resume == "auto" ? options_.save : options_.resume, resolved, standIn;
  Status status = resolveCheckpoint(path, &resolved, &standIn);
  *found = status.isOk();
  if (options_.resume == "auto" && status.code() == Code::NotFound)
    return Status::ok();
  CLEAVE_TRY(std::move(status));
  if (session_->isLeader() && !standIn.empty())
    log(LogLevel::Warning, -1, "--resume: " + standIn);
  status = loadCheckpoint(*session_, resolved, &position_, &resumedRun_, &resumedIdentity_);
  if (!status.isOk())
    return {status.code(), status.message() + wholeBeside(resolved)};
  resumedFrom_ = resolved;
  // The checkpoint of another directory is not yet saved in the directory of --save.
  std::error_code error;
  resumedInPlace_ = !options_.save.empty() && std::filesystem::equivalent(resolved + "/..", options_.save, error);
  if (resumedInPlace_) {
    savedStep_ = position_.step;
    auto run = resumedRun_.find(kRunFact);
    ofRun_->adopt(options_.save, position_.step, run == resumedRun_.end() ? "" : run->second);
  }
  return Status::ok();
}

// The best loss that is reported must be that of the checkpoint that `best` names. A run that began with --save-best
// goes on with it. If `best` names another checkpoint than the best one that the resumed checkpoint knows (in another
// directory, or of steps that will run again), the next evaluation becomes the first to compare with.
Status TrainLoop::resumeBest() {
  std::string best;
  Status found = options_.save.empty() ? notFound("") : resolveCheckpoint(options_.save + "/best", &best);
  bool exists = found.isOk();
  if (!exists && found.code() != Code::NotFound)
    return found;
  options_.saveBest |= exists && resumedInPlace_ && !options_.valData.empty();
  if (!options_.saveBest || !position_.hasBest)
    return Status::ok();
  CheckpointIndex index;
  const TrainingPosition &position = index.position;
  position_.hasBest = exists && readCheckpointIndex(best + "/" + kCheckpointIndexFile, &index).isOk() &&
                      position.hasBest && position.bestLoss == position_.bestLoss && position.step <= position_.step;
  if (position_.hasBest)
    return Status::ok();
  position_.stale = 0; // it counts from the best
  if (session_->isLeader())
    log(LogLevel::Info, -1,
        "--save-best: the best checkpoint so far is not " + options_.save +
            "/best, which begins anew with the next "
            "evaluation");
  return Status::ok();
}

Status TrainLoop::resume() {
  position_.seed = options_.seed.value_or(0);
  position_.shuffle = options_.shuffle;
  if (options_.resume.empty())
    return Status::ok();
  CLEAVE_TRY(session_->agree(loadLatest(&resumed_).in("--resume"), "resume"));
  // Processes may see different directories, or see one directory at different times.
  CLEAVE_TRY(session_->agreeOn(position_.step, "the step to resume at").in("--resume"));
  CLEAVE_TRY(session_->agreeOnHash(resumedIdentity_, "--resume: the checkpoints"));
  if (!resumed_)
    return Status::ok();
  if (options_.seed && *options_.seed != position_.seed)
    return invalidArgument("--resume: the checkpoint was made with --seed " + std::to_string(position_.seed) +
                           ", not " + std::to_string(*options_.seed) + "; give that number, or leave --seed out");
  // At the end of an epoch, another order uses no sample twice.
  if (position_.sample != 0 && position_.shuffle.value_or(options_.shuffle) != options_.shuffle)
    return invalidArgument(std::string("--resume: the checkpoint was made ") + (options_.shuffle ? "with" : "without") +
                           " --no-shuffle, and lies inside an epoch, which goes on in that order: " +
                           (options_.shuffle ? "give it again" : "leave it out"));
  position_.shuffle = options_.shuffle;
  std::optional<double> skipped;
  CLEAVE_TRY(readScalars(*session_, {{&skipped_, &skipped}}));
  skippedBefore_ = static_cast<uint64_t>(skipped.value_or(0));
  CLEAVE_TRY(session_->agree(resumeBest().in("--save-best"), "resume"));
  CLEAVE_TRY(session_->agreeOn(options_.saveBest, "whether the best is saved").in("--resume"));
  return Status::ok();
}

Status TrainLoop::openData() {
  data_ = std::make_unique<DataSet>();
  CLEAVE_TRY(DataSet::open(*program_, options_.data, "--data", data_.get()));
  CLEAVE_TRY(data_->agree(*session_, "--data"));
  CLEAVE_TRY(InputFeed::open(*session_, *program_, inputFrames(session_->plan(), *program_), *data_, position_.seed,
                             options_.shuffle, options_.lastBatch, position_.epoch, position_.sample, "--data",
                             &feed_));
  CLEAVE_TRY(countSteps());
  tokensPerSample_ = static_cast<double>(tokensPerSample(*program_));
  if (options_.valData.empty())
    return Status::ok();
  evaluator_.emplace();
  return Evaluator::open(*session_, options_.valData, "--val-data", &*evaluator_);
}

// All processes have the same data (DataSet::agree()), and so they write the same facts into a checkpoint.
void TrainLoop::describeData() {
  auto describe = [&](std::vector<std::string> specs, const DataSet &data, std::string *text) {
    char contents[17];
    std::snprintf(contents, sizeof contents, "%016llx", static_cast<unsigned long long>(data.fingerprint()));
    std::sort(specs.begin(), specs.end());
    *text = textWithoutFiles(specs) + kWithContents + contents;
  };
  describe(options_.data, *data_, &run_["data"]);
  if (evaluator_)
    return describe(options_.valData, evaluator_->data(), &run_["val-data"]);
  // Without validation data, the checkpoint's best loss still belongs to the data that it was computed from.
  if (auto before = resumedRun_.find("val-data"); before != resumedRun_.end())
    run_.insert(*before);
}

// A run that is resumed keeps its name, and has none if its checkpoints are of earlier versions. Else two runs have the
// same name only if they would save the same numbers.
void TrainLoop::nameRun() {
  if (resumed_) {
    if (auto before = resumedRun_.find(kRunFact); before != resumedRun_.end())
      run_.insert(*before);
    return;
  }
  std::string facts = std::to_string(position_.seed) + (options_.shuffle ? " shuffled" : "");
  for (const auto &[name, text] : run_)
    facts += '\n' + name + '=' + text;
  char name[17];
  std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(fnv1a(facts)));
  run_[kRunFact] = name;
}

// Losses on different validation data cannot be compared, and neither can different losses.
void TrainLoop::compareBest() {
  bool isOther = differ(resumedRun_, run_, kLossProperty);
  if (!position_.hasBest || (!isOther && !differ(resumedRun_, run_, "val-data")))
    return;
  position_.hasBest = false;
  position_.stale = 0;
  if (session_->isLeader())
    log(LogLevel::Warning, -1,
        "--val-data: the best loss of " + resumedFrom_ + " is " + (isOther ? "another loss" : "that of other data") +
            " and counts no more; the best begins anew with the next evaluation");
}

// The optimizer and the model are compiled in. All other facts are this run's options and data. The length of training
// is a fact only if the rate depends on it.
Status TrainLoop::compareRuns() {
  run_ = planFacts(session_->plan(), session_->modelName());
  run_["global-batch"] = asText(feed_->globalBatch());
  run_["samples"] = asText(feed_->samples());
  run_["last-batch"] = options_.lastBatch == LastBatch::Pad ? "pad" : "drop";
  run_["lr"] = asText(lr_);
  run_["lr-schedule"] = options_.lrSchedule;
  run_["clip-grad-norm"] = asText(options_.clipGradNorm);
  using Kind = LearningRateSchedule::Kind;
  bool ends = schedule_.kind == Kind::Cosine || schedule_.kind == Kind::Linear;
  if (ends && schedule_.steps == 0) // else the schedule says itself where it ends
    run_["steps"] = asText(total_);
  describeData();
  nameRun();
  if (!resumed_)
    return Status::ok();
  std::string note;
  CLEAVE_TRY(compareFacts(resumedRun_, run_, &note).in("--resume: " + resumedFrom_));
  if (position_.sample > feed_->samples())
    return invalidArgument("--resume: " + resumedFrom_ + " stands at sample " + std::to_string(position_.sample) +
                           " of an epoch, and --data has " + counted(feed_->samples(), "sample") +
                           ": give the data that it was made with");
  if (!note.empty() && session_->isLeader())
    log(LogLevel::Warning, -1, "--resume: this run differs from that of " + resumedFrom_ + ": " + note);
  compareBest();
  return Status::ok();
}

// Steps before the checkpoint may have had another global batch, so the rest of the epochs is counted in samples.
Status TrainLoop::countSteps() {
  uint64_t epochs = options_.epochs.value_or(1);
  if (options_.steps) {
    total_ = *options_.steps;
    return Status::ok();
  }
  total_ = position_.step;
  if (position_.epoch >= epochs)
    return Status::ok();
  uint64_t begun = feed_->batchesFrom(position_.sample), later = 0;
  if (__builtin_mul_overflow(epochs - position_.epoch - 1, feed_->batchesPerEpoch(), &later) ||
      __builtin_add_overflow(total_, begun, &total_) || __builtin_add_overflow(total_, later, &total_))
    return invalidArgument("--epochs: " + std::to_string(epochs) + " epochs of " +
                           std::to_string(feed_->batchesPerEpoch()) + " steps are more steps than can be counted");
  return Status::ok();
}

Status TrainLoop::openOutputs() {
  bool leader = session_->isLeader();
  progress_ = std::make_unique<Progress>(total_, options_.logEvery, tokensPerSample_ != 0 ? "tokens" : "samples",
                                         /*quiet=*/!leader);
  std::optional<uint64_t> resumed = resumed_ ? std::optional(position_.step) : std::nullopt;
  if (leader && !options_.metrics.empty())
    CLEAVE_TRY(metricsFile_.open(options_.metrics, resumed).in("--metrics"));
  if (leader && !options_.tensorboard.empty())
    CLEAVE_TRY(tensorboard_.open(options_.tensorboard, resumed).in("--tensorboard"));
  return Status::ok();
}

} // namespace cleave::rt

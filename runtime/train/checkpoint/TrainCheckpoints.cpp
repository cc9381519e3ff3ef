#include "runtime/train/checkpoint/TrainCheckpoints.h"

#include "runtime/base/Log.h"
#include "runtime/comm/Communicator.h"
#include "runtime/plan/Properties.h"
#include "runtime/plan/ScalarNames.h"
#include "runtime/train/checkpoint/RunFacts.h"

#include <algorithm>

namespace cleave::rt {
namespace {

// Bytes that are sent between processes at one time. The leader never holds more of the others' states.
constexpr size_t kPieceBytes = 4u << 20;

class Writer {
public:
  Writer(Session &session, const std::vector<RankStates> &states, const SaveRequest &request, unsigned channel)
      : session_(session), states_(states), request_(request), channel_(channel),
        save_(request.directory, request.position.step) {}

  // All processes agree after each phase: none goes on if another one has failed, and none waits for one that has given
  // up.
  Status write() {
    bool leads = session_.isLeader();
    CLEAVE_TRY(makeCheckpointIndex(session_.plan(), &index_));
    index_.model = session_.modelName();
    index_.position = request_.position;
    index_.run = request_.run;
    index_.isOnlyBest = request_.isOnlyBest;
    CLEAVE_TRY(agree(leads ? save_.prepare(request_.lock) : Status::ok()));
    bool full = request_.form == CheckpointForm::Full;
    Status status = agree(!full ? writeShards() : leads ? writeFull() : sendParts());
    if (status.isOk())
      status = agree(leads ? publish() : Status::ok());
    if (!status.isOk() && leads)
      save_.discard();
    return status;
  }

private:
  Status agree(Status mine) { return session_.agree(std::move(mine), "save the checkpoint", channel_); }

  Status writeShards() {
    for (unsigned local = 0; local < session_.localRanks(); ++local)
      CLEAVE_TRY(save_.writeShard(session_.plan(), session_.worldRank(local), states_[local]));
    return Status::ok();
  }

  // The bytes of the slices that the local ranks own. A key is that of one slice only within the file of a rank.
  using SliceId = std::pair<unsigned, std::string>; // rank, key
  static SliceId idOf(const CheckpointSlice &slice) { return {slice.rank, slice.key}; }
  std::map<SliceId, const std::byte *> localSlices() const {
    std::map<SliceId, const std::byte *> result;
    for (unsigned local = 0; local < session_.localRanks(); ++local)
      for (const OwnedSlice &slice : ownedSlices(session_.plan(), states_[local].coordinates)) {
        const StateView &view = states_[local].states[slice.state];
        result[{session_.worldRank(local), slice.key}] =
            view.data + slice.overlap.stored * elementSize(elementType(view.state->dtype()));
      }
    return result;
  }

  // The part of another process is received to its end even if the disk is full, because the sender waits until then.
  Status writeFull() {
    auto local = localSlices();
    std::vector<std::byte> piece;
    size_t asked = 0; // slices in the order of the index
    Status status = save_.writeFull(index_, [&](const CheckpointTensor &tensor, const CheckpointSlice &slice,
                                                const CheckpointSave::Append &append) {
      ++asked;
      auto found = local.find(idOf(slice));
      if (found != local.end())
        return append(found->second, slice.count * elementSize(tensor.type));
      return receive(tensor, slice, append, &piece);
    });
    if (status.isOk() || !session_.processes())
      return status;
    size_t index = 0;
    for (const CheckpointTensor &tensor : index_.tensors)
      for (const CheckpointSlice &slice : tensor.slices)
        if (++index > asked && !local.count(idOf(slice)))
          CLEAVE_TRY(receive(
              tensor, slice, [](const std::byte *, size_t) { return Status::ok(); }, &piece));
    return status;
  }

  Status receive(const CheckpointTensor &tensor, const CheckpointSlice &slice, const CheckpointSave::Append &append,
                 std::vector<std::byte> *piece) {
    Communicator *processes = session_.processes();
    if (!processes)
      return internal("slice '" + slice.key + "' lies on no rank");
    piece->resize(kPieceBytes);
    Status status;
    for (size_t left = slice.count * elementSize(tensor.type), bytes = 0; left != 0; left -= bytes) {
      bytes = std::min(left, kPieceBytes);
      CLEAVE_TRY(processes->receive(static_cast<int>(slice.rank), piece->data(), bytes, channel_));
      if (status.isOk())
        status = append(piece->data(), bytes);
    }
    return status;
  }

  Status sendParts() {
    auto local = localSlices();
    for (const CheckpointTensor &tensor : index_.tensors)
      for (const CheckpointSlice &slice : tensor.slices) {
        auto found = local.find(idOf(slice));
        if (found == local.end())
          continue;
        size_t size = slice.count * elementSize(tensor.type);
        for (size_t done = 0; done < size; done += kPieceBytes)
          CLEAVE_TRY(session_.processes()->send(0, found->second + done, std::min(kPieceBytes, size - done), channel_));
      }
    return Status::ok();
  }

  // `best` is removed before the checkpoint that it names is replaced. So it never names one that is not the best.
  Status dropBest() {
    bool dropped = false;
    CLEAVE_TRY(save_.unpoint("best", &dropped));
    if (dropped)
      log(LogLevel::Warning, -1,
          request_.directory + "/best is removed: what it named is replaced by " + save_.path() +
              " of this run, which is not the best");
    return Status::ok();
  }

  Status publish() {
    if (!request_.isBest)
      CLEAVE_TRY(dropBest());
    CLEAVE_TRY(save_.publish(request_.form == CheckpointForm::Full ? fullIndex(index_) : index_));
    CLEAVE_TRY(save_.point("latest"));
    if (request_.isBest)
      CLEAVE_TRY(save_.point("best"));
    request_.ofRun->add(save_.name(), request_.isOnlyBest);
    CLEAVE_TRY(request_.ofRun->prune(request_.directory, request_.keep));
    return request_.isBest ? request_.ofRun->pruneBests(request_.directory, request_.keepBest) : Status::ok();
  }

  Session &session_;
  const std::vector<RankStates> &states_;
  const SaveRequest &request_;
  unsigned channel_;
  CheckpointSave save_;
  CheckpointIndex index_; // sharded
};

} // namespace

Status writeCheckpoint(Session &session, const std::vector<RankStates> &states, const SaveRequest &request,
                       unsigned channel) {
  const fb::Program *step = nullptr;
  CLEAVE_TRY(session.entry("train_step", &step)); // weights for inference are packed, and never change
  return Writer(session, states, request, channel).write();
}

Status saveLiveStates(Session &session, const SaveRequest &request) {
  CLEAVE_TRY(session.forEach([](unsigned, Rank &rank) { return rank.pullStates(); }));
  return writeCheckpoint(session, stateImages(session), request);
}

std::vector<RankStates> stateImages(const Session &session) {
  std::vector<RankStates> result;
  for (unsigned local = 0; local < session.localRanks(); ++local)
    result.push_back(session.states(local));
  return result;
}

Status openCheckpoint(const Session &session, const std::string &path, Checkpoint *result) {
  CLEAVE_TRY(Checkpoint::open(path, result));
  if (differ(result->index().run, planFacts(session.plan(), ""), kLossScaleProperty))
    result->keepScalars({kLossScaleScalar, kGoodStepsScalar}); // this program's own
  for (const std::string &note : {result->standIn(), result->note()})
    if (session.isLeader() && !note.empty())
      log(LogLevel::Warning, -1, note);
  return Status::ok();
}

// Calls `work` for the states of each local rank. The ranks' threads return success even if the work fails: a rank that
// fails ends the communication between ranks for good.
template <typename Work> static Status forStates(Session &session, Work work) {
  std::vector<Status> found(session.localRanks());
  CLEAVE_TRY(session.forEach([&](unsigned local, Rank &) {
    found[local] = work(session.states(local));
    return Status::ok();
  }));
  for (Status &status : found)
    CLEAVE_TRY(std::move(status));
  return Status::ok();
}

Status checkStates(Session &session, const Checkpoint &checkpoint) {
  return forStates(session, [&](const RankStates &states) { return checkpoint.check(states); });
}

Status fillStates(Session &session, const Checkpoint &checkpoint) {
  CLEAVE_TRY(forStates(session, [&](const RankStates &states) { return checkpoint.load(states); }));
  return session.finishLoading(checkpoint.path());
}

// For a checkpoint that does not fit: another model or optimizer explains the list of tensors.
static std::string whyOther(const Session &session, const RunFacts &saved) {
  const RunFacts now = planFacts(session.plan(), session.modelName());
  if (differ(saved, now, kModelProperty))
    return "the checkpoint is of model '" + saved.at(kModelProperty) + "', this program was compiled from '" +
           now.at(kModelProperty) + "': resume it with the program of '" + saved.at(kModelProperty) + "'. ";
  if (!differ(saved, now, "optimizer"))
    return "";
  return "the checkpoint is of " + saved.at("optimizer") + ", this program trains by " + now.at("optimizer") + "; ";
}

Status loadCheckpoint(Session &session, const std::string &path, TrainingPosition *position, RunFacts *run,
                      uint64_t *identity) {
  Checkpoint checkpoint;
  CLEAVE_TRY(openCheckpoint(session, path, &checkpoint));
  Status fits = forStates(session, [&](const RankStates &states) { return checkpoint.checkFits(states); });
  if (!fits.isOk())
    return {fits.code(), whyOther(session, checkpoint.index().run) + fits.message()};
  CLEAVE_TRY(fillStates(session, checkpoint)); // a failure is about the data: damage, or numbers of another precision
  *position = checkpoint.index().position;
  *run = checkpoint.index().run;
  *identity = checkpoint.index().identity;
  return Status::ok();
}

} // namespace cleave::rt

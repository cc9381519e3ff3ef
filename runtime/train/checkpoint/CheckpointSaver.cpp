#include "runtime/train/checkpoint/CheckpointSaver.h"

#include "runtime/base/CaughtStatus.h"
#include "runtime/base/Log.h"
#include "runtime/comm/Communicator.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/SavedState.h"
#include "runtime/plan/Snapshot.h"

namespace cleave::rt {
namespace {

Status written(Session &session, const std::vector<RankStates> &states, const SaveRequest &request) {
  try {
    return writeCheckpoint(session, states, request, kCheckpointChannel);
  } catch (...) {
    return caughtStatus();
  }
}

} // namespace

Status snapshotStates(const RankStates &live, const Rank &rank, const fb::Program &snapshot, RankStates *result) {
  *result = live;
  for (StateView &view : result->states) {
    if (!isSaved(*view.state) || rank.stateBytes(*view.state).size == 0)
      continue;
    const fb::Buffer *target = snapshotOf(rank.plan(), snapshot, *view.state);
    if (!target)
      return internal("the plan's snapshot lacks the state '" + view.state->name()->str() + "'");
    view.data = rank.regionBytes(target->region()).data + target->offset();
  }
  return Status::ok();
}

// If the copy is on a device, it is first copied to its image in the host's memory.
static Status pullSnapshot(Rank &rank) {
  const fb::Plan &plan = rank.plan();
  for (unsigned i = 0; i < lengthOf(plan.regions()); ++i)
    if (plan.regions()->Get(i)->kind() == fb::RegionKind::snapshot)
      CLEAVE_TRY(rank.pull(rank.regionBytes(i)));
  return Status::ok();
}

CheckpointSaver::~CheckpointSaver() {
  if (thread_.joinable())
    thread_.join();
}

Status CheckpointSaver::open(Session &session, bool async, CheckpointSaver *result) {
  result->session_ = &session;
  Communicator *processes = session.processes();
  if (async && processes && !processes->servesThreads()) {
    async = false;
    if (session.isLeader())
      log(LogLevel::Warning, -1, "--save-async: these processes talk by " + std::string(processes->transport()) +
                                     " alone, in one order; training waits for each checkpoint. Under mpirun it does not");
  }
  if (!async)
    return Status::ok();
  result->snapshot_ = findProgram(session.plan(), "snapshot");
  if (!result->snapshot_)
    return invalidArgument(
        "--save-async: this model has no memory for a copy of its state; compile it with --save-async");
  result->states_ = stateImages(session);
  for (unsigned local = 0; local < session.localRanks(); ++local)
    CLEAVE_TRY(snapshotStates(session.states(local), session.rank(local),
                              *findProgram(session.rank(local).plan(), "snapshot"), &result->states_[local]));
  return Status::ok();
}

Status CheckpointSaver::save(SaveRequest request) {
  CLEAVE_TRY(finish());
  request_ = std::move(request);
  if (!snapshot_) {
    CLEAVE_TRY(saveLiveStates(*session_, request_));
    saved_.push_back(CheckpointSave(request_.directory, request_.position.step).path());
    return Status::ok();
  }
  CLEAVE_TRY(session_->run(*snapshot_));
  CLEAVE_TRY(session_->forEach([](unsigned, Rank &rank) { return pullSnapshot(rank); }));
  done_ = false;
  thread_ = std::thread([this] {
    status_ = written(*session_, states_, request_);
    done_ = true;
  });
  return Status::ok();
}

Status CheckpointSaver::poll() { return done_ ? finish() : Status::ok(); }

Status CheckpointSaver::finish() {
  if (!thread_.joinable())
    return Status::ok();
  thread_.join();
  done_ = false;
  CLEAVE_TRY(
      std::exchange(status_, Status::ok()).in("the checkpoint of step " + std::to_string(request_.position.step)));
  saved_.push_back(CheckpointSave(request_.directory, request_.position.step).path());
  return Status::ok();
}

} // namespace cleave::rt

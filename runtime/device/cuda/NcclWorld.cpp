#include "runtime/device/cuda/NcclWorld.h"

#include "runtime/base/Clock.h"
#include "runtime/device/cuda/NcclCommunicator.h"
#include "runtime/device/cuda/WatchedCall.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/Traffic.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <optional>

namespace cleave::rt {

using cuda::check;
using cuda::checkNccl;
using cuda::Handle;

namespace {

constexpr std::chrono::milliseconds kPeriod{50};
constexpr double kNamedSeconds = 2;
constexpr int kBytes = 1;                                                      // ncclUint8
constexpr cuda::Result kSystemError = 2, kInternalError = 3, kRemoteError = 6; // ncclResult_t

// Returns the type of ncclDataType_t in which elements are reduced, or -1 if there is none.
int reducedType(fb::DType type) {
  switch (type) {
  case fb::DType::i8:
    return 0;
  case fb::DType::u8:
  case fb::DType::boolean: // false is 0, true 1
    return 1;
  case fb::DType::i32:
    return 2;
  case fb::DType::i64:
    return 4;
  case fb::DType::f16:
    return 6;
  case fb::DType::f32:
    return 7;
  case fb::DType::f64:
    return 8;
  case fb::DType::bf16:
    return 9;
  default:
    return -1;
  }
}

int operationOf(Reduction reduction) { return reduction == Reduction::Sum ? 0 : reduction == Reduction::Max ? 2 : 3; }

// The data that ranks exchange before any of them waits in NCCL.
struct Offer {
  uint32_t opened;
  cuda::NcclId id;
};

uint64_t bytesSent(const CollectiveRequest &request) {
  uint64_t bytes = request.count * dtypeSize(request.dtype), ranks = static_cast<uint64_t>(request.group.size());
  bool isRoot = request.group.index == request.root;
  switch (request.opcode) {
  case Opcode::AllReduce:
    return allReduceBytesSent(bytes, ranks);
  case Opcode::Reduce:
    return reduceBytesSent(bytes, ranks, isRoot);
  case Opcode::Broadcast:
    return broadcastBytesSent(bytes, ranks, isRoot);
  default:
    return scatterBytesSent(bytes, ranks);
  }
}

} // namespace

NcclWorld::NcclWorld(const Setup &setup, const ConnectRequest &request, const cuda::Nccl &nccl)
    : nccl_(nccl), setup_(setup), host_(request.comm), rank_(request.comm.rank()),
      comms_(std::make_shared<NcclComms>(nccl, *setup.driver, setup.device)), order_(setup.streams->makeEvent()) {}

Status NcclWorld::join(const Setup &setup, const ConnectRequest &request, std::unique_ptr<NcclWorld> *result) {
  const cuda::Nccl *nccl = nullptr;
  Status mine = cuda::openNccl(&nccl);
  Offer offer = {};
  if (mine.isOk() && request.comm.rank() == 0 && !ncclCommsOf(request.comm))
    mine = checkNccl(nccl->uniqueId(&offer.id), "ncclGetUniqueId");
  offer.opened = mine.isOk();
  std::vector<Offer> offers(static_cast<size_t>(request.comm.size()));
  CLEAVE_TRY(request.comm.allGather(&offer, sizeof offer, offers.data(), kControlChannel));
  CLEAVE_TRY(std::move(mine));
  for (size_t rank = 0; rank < offers.size(); ++rank)
    if (!offers[rank].opened)
      return peerLost("rank " + std::to_string(rank) + " cannot use NCCL; its message says why");
  std::unique_ptr<NcclWorld> world(new NcclWorld(setup, request, *nccl));
  CLEAVE_TRY(setup.streams->prepare(world->order_));
  CLEAVE_TRY(world->makeCommunicators(world->partsOf(request), offers[0].id, request.comm.size()));
  world->watchdog_ = std::thread([world = world.get()] { world->watch(); });
  *result = std::move(world);
  return Status::ok();
}

// Every rank splits by the same groups in the same order. The color of a part is its first member. A rank that is a
// member of no part gets a part of its own: if a split fails, NCCL writes through a null pointer for ranks without a
// color (read in 2.18 to 2.30, src/init.cc, ncclCommInitRankFunc).
std::vector<NcclWorld::Part> NcclWorld::partsOf(const ConnectRequest &request) const {
  std::vector<Part> parts;
  for (const GroupShape &shape : request.groups) {
    Group group = meshGroup(request.mesh, shape.axes, rank_, shape.only);
    bool isAll = group.size() == request.comm.size() && std::is_sorted(group.members.begin(), group.members.end());
    if (group.size() == 1 || isAll) // true on all ranks or on none
      continue;
    auto place = std::find(group.members.begin(), group.members.end(), rank_);
    bool isMember = place != group.members.end();
    parts.push_back({group.members, isMember ? group.members.front() : request.comm.size() + rank_,
                     static_cast<int>(place - group.members.begin()), isMember});
  }
  return parts;
}

namespace {

// The data of the thread that makes communicators. The thread owns all of it, except `driver`, which is never
// destroyed.
struct Making {
  const cuda::Driver &driver;
  Handle context;
  std::shared_ptr<NcclComms> hosts; // null: the hosts do not communicate by NCCL
  std::shared_ptr<NcclComms> comms;
  std::vector<std::pair<int, int>> splits; // the color and index of each split
  cuda::NcclId id;
  int size, rank;
  std::vector<Handle> made = {}; // the one of all ranks, then those of the splits

  Status keep(Handle comm) {
    made.push_back(comm);
    return comms->keep(comm) ? Status::ok() : peerLost("another rank is lost");
  }
  Status split(NcclComms &from, int color, int index) {
    NcclComms::Use use(from);
    Handle comm = nullptr;
    if (!use)
      return peerLost("another rank is lost");
    CLEAVE_TRY(checkNccl(from.nccl().split(from.first(), color, index, &comm, nullptr), "ncclCommSplit"));
    return keep(comm);
  }
  Status init() {
    Handle comm = nullptr;
    CLEAVE_TRY(checkNccl(comms->nccl().init(&comm, size, id, rank), "ncclCommInitRank"));
    return keep(comm);
  }
  Status run() {
    CLEAVE_TRY(check(driver.contextSetCurrent(context), "cuCtxSetCurrent"));
    CLEAVE_TRY(hosts ? split(*hosts, 0, rank) : init());
    for (auto [color, index] : splits)
      CLEAVE_TRY(split(*comms, color, index));
    return Status::ok();
  }
};

} // namespace

Status NcclWorld::makeCommunicators(const std::vector<Part> &parts, const cuda::NcclId &id, int size) {
  auto making =
      std::make_shared<Making>(Making{*setup_.driver, setup_.context, ncclCommsOf(host_), comms_, {}, id, size, rank_});
  for (const Part &part : parts)
    making->splits.emplace_back(part.color, part.index);
  WatchedCall call([making] { return making->run(); });
  std::string why;
  for (WaitClock clock; why.empty() && !call.isOver(kPeriod);) {
    if (Status status = host_.health(); !status.isOk())
      why = status.message();
    else if (clock.look(secondsNow()) > host_.timeoutSeconds())
      why = waitedText();
  }
  if (!why.empty()) {
    Status lost = peerLost(why + "; this rank was joining the others by NCCL (ncclCommInitRank, ncclCommSplit)");
    if (host_.health().isOk())
      host_.abort(lost);
    comms_->abort();
    if (Handle context = nullptr; !call.isOver(WatchedCall::kWakeTime))
      setup_.driver->contextRetain(&context, setup_.device); // for ever: the thread may call the driver
    return lost;
  }
  if (Status status = call.status(); !status.isOk()) {
    comms_->abort(); // others may wait in a communicator of this rank
    return status;
  }
  all_ = making->made[0];
  std::vector<int> everybody(static_cast<size_t>(size));
  std::iota(everybody.begin(), everybody.end(), 0);
  groups_[std::move(everybody)] = all_;
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i].isMember)
      groups_[parts[i].members] = making->made[i + 1];
  return Status::ok();
}

NcclWorld::~NcclWorld() { abortIfBroken(); }

void NcclWorld::stopWatching() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (watchdog_.joinable())
    watchdog_.join();
}

// A lost rank cannot take part in freeing communicators. So they are aborted, which ends all waits in them.
void NcclWorld::abortIfBroken() {
  stopWatching();
  if (failed_ || !host_.health().isOk())
    comms_->abort();
}

void NcclWorld::startRun(const Script *script) {
  std::lock_guard<std::mutex> lock(mutex_);
  *setup_.done = 0; // nothing is under way, because the host waits for each run
  seen_ = 0;
  clock_ = WaitClock();
  isIdle_ = false;
  script_ = script ? *script : Script();
  countSent();
}

void NcclWorld::finishRun() {
  std::lock_guard<std::mutex> lock(mutex_);
  isIdle_ = true;
}

Status NcclWorld::findGroup(const Group &group, Handle *comm) const {
  auto found = groups_.find(group.members);
  if (found == groups_.end())
    return internal("there is no communicator for this group of ranks");
  *comm = found->second;
  return Status::ok();
}

// Adds the place to the script before NCCL is called, so that the watchdog can name it.
Status NcclWorld::begin(Handle stream, const std::string &place) {
  CLEAVE_TRY(health());
  {
    std::lock_guard<std::mutex> lock(mutex_);
    script_.places.push_back(&place);
    isIdle_ = false; // a trace waits for each instruction, which sets isIdle_
  }
  return setup_.streams->wait(order_, stream);
}

Status NcclWorld::finish(Handle stream, uint64_t bytes) {
  uint32_t mark = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    script_.bytes += bytes;
    mark = lastMark();
  }
  CLEAVE_TRY(check(setup_.driver->copy(reinterpret_cast<cuda::Pointer>(setup_.done),
                                       setup_.marks + mark * sizeof(uint32_t), sizeof(uint32_t), stream),
                   "cuMemcpyAsync"));
  return setup_.streams->record(order_, stream);
}

// NCCL often notices a lost rank only by an error. The communicator of the hosts may find out which rank it is, perhaps
// a little later.
Status NcclWorld::explain(cuda::Result result, const char *what) const {
  Status status = checkNccl(result, what);
  if (result != kSystemError && result != kInternalError && result != kRemoteError)
    return status;
  std::string words = nameLost(status.message());
  if (failed_)
    return lost();
  return result == kRemoteError || !host_.health().isOk() ? peerLost(words) : status;
}

Status NcclWorld::collective(const CollectiveRequest &request, std::byte *data, Handle stream,
                             const std::string &place) {
  Handle comm = nullptr;
  CLEAVE_TRY(findGroup(request.group, &comm));
  size_t part = request.count / static_cast<size_t>(request.group.size()), size = dtypeSize(request.dtype);
  std::byte *mine = data + static_cast<size_t>(request.group.index) * part * size;
  int type = reducedType(request.dtype), operation = operationOf(request.reduction);
  bool reduces = request.opcode != Opcode::AllGather && request.opcode != Opcode::Broadcast;
  if (reduces && type < 0)
    return invalidArgument(std::string("NCCL has no reduction of ") + fb::EnumNameDType(request.dtype) +
                           "; use CLEAVE_CUDA_COMM=host");
  CLEAVE_TRY(begin(stream, place));
  std::optional<NcclComms::Use> use(std::in_place, *comms_);
  if (!*use)
    return lost();
  cuda::Result result = 0;
  switch (request.opcode) {
  case Opcode::AllReduce:
    result = nccl_.allReduce(data, data, request.count, type, operation, comm, stream);
    break;
  case Opcode::ReduceScatter:
    result = nccl_.reduceScatter(data, mine, part, type, operation, comm, stream);
    break;
  case Opcode::AllGather:
    result = nccl_.allGather(mine, data, part * size, kBytes, comm, stream);
    break;
  case Opcode::Reduce:
    result = nccl_.reduce(data, data, request.count, type, operation, request.root, comm, stream);
    break;
  default:
    result = nccl_.broadcast(data, data, request.count * size, kBytes, request.root, comm, stream);
  }
  use.reset();
  if (result != 0)
    return explain(result, "a collective");
  return finish(stream, bytesSent(request));
}

Status NcclWorld::transfer(const TransferRequest &request, std::byte *data, Handle stream, const std::string &place) {
  CLEAVE_TRY(begin(stream, place));
  std::optional<NcclComms::Use> use(std::in_place, *comms_);
  if (!*use)
    return lost();
  bool sends = request.opcode == Opcode::Send;
  size_t bytes = request.data.bytes;
  cuda::Result result = sends ? nccl_.send(data, bytes, kBytes, request.peer, all_, stream)
                              : nccl_.receive(data, bytes, kBytes, request.peer, all_, stream);
  use.reset();
  if (result != 0)
    return explain(result, sends ? "ncclSend" : "ncclRecv");
  return finish(stream, sends ? bytes : 0);
}

Status NcclWorld::launch(Handle graph, Handle stream) {
  CLEAVE_TRY(health());
  NcclComms::Use use(*comms_);
  if (!use)
    return lost();
  return check(setup_.driver->graphLaunch(graph, stream), "cuGraphLaunch");
}

// The error of a call that found communicators aborted.
Status NcclWorld::lost() const {
  Status status = health();
  return status.isOk() ? peerLost("another rank is lost") : status;
}

Status NcclWorld::health() const {
  if (!failed_)
    return Status::ok();
  std::lock_guard<std::mutex> lock(mutex_);
  return peerLost(reason_);
}

// The value of `done` after all operations of the script. Scripts with more than kMarks - 1 operations share the last
// mark.
uint32_t NcclWorld::lastMark() const {
  return static_cast<uint32_t>(std::min<size_t>(script_.places.size(), kMarks - 1));
}

// The operation that this rank waits in: the first one that is not done.
std::string NcclWorld::pending() const {
  std::lock_guard<std::mutex> lock(mutex_);
  uint32_t done = *setup_.done;
  return done < lastMark() ? *script_.places[done] : "";
}

// NCCL does not say which rank is lost. Waits for the communicator of the hosts to find out.
std::string NcclWorld::nameLost(const std::string &error) const {
  for (double end = secondsNow() + kNamedSeconds; secondsNow() < end; std::this_thread::sleep_for(kPeriod))
    if (Status status = host_.health(); !status.isOk())
      return status.message();
  return error + " (another rank is lost, or the network between them)";
}

std::string NcclWorld::trouble(double time) {
  if (Status status = host_.health(); !status.isOk())
    return status.message();
  if (cuda::Result error = comms_->error())
    return nameLost(checkNccl(error, "communication").message());
  std::lock_guard<std::mutex> lock(mutex_);
  uint32_t done = *setup_.done;
  if (done != seen_ || isIdle_ || done >= lastMark()) {
    seen_ = done;
    clock_ = WaitClock();
  }
  return clock_.look(time) > host_.timeoutSeconds() ? waitedText() : "";
}

std::string NcclWorld::waitedText() const {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", host_.timeoutSeconds());
  return "rank " + std::to_string(rank_) + " waited " + seconds +
         " s for another rank; CLEAVE_COMM_TIMEOUT_S sets the limit";
}

void NcclWorld::watch() {
  setup_.driver->contextSetCurrent(setup_.context);
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait_for(lock, kPeriod, [this] { return stopping_; });
      if (stopping_)
        return;
    }
    std::string why = trouble(secondsNow());
    if (!why.empty())
      return giveUp(why);
  }
}

// Sets the reason before the host can see that its wait has ended.
void NcclWorld::giveUp(const std::string &why) {
  std::string place = pending();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    reason_ = place.empty() ? why : why + "; this rank was in " + place;
    failed_ = true;
  }
  if (host_.health().isOk())
    host_.abort(peerLost(reason_));
  comms_->abort();
}

} // namespace cleave::rt

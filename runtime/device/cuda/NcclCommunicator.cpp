#include "runtime/device/cuda/NcclCommunicator.h"

#include "runtime/base/Clock.h"
#include "runtime/base/Termination.h"
#include "runtime/base/WaitClock.h"
#include "runtime/comm/Membership.h"
#include "runtime/comm/PeerMonitor.h"
#include "runtime/device/cuda/NcclExchange.h"
#include "runtime/device/cuda/NcclMeeting.h"
#include "runtime/device/cuda/WatchedCall.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace cleave::rt {

using cuda::checkNccl;
using cuda::Handle;

namespace {

constexpr const char *kTransport = "nccl";
constexpr unsigned kLeaveChannel = kAllChannels; // for messages of ranks that have done their work
constexpr std::chrono::milliseconds kPeriod{50};
constexpr double kNamedSeconds = 2;   // after NCCL reports a loss: for the monitor to find out which rank it is
constexpr double kGoodbyeSeconds = 2; // the time limit when all have done their work
constexpr uint64_t kMark = 0x65766165'6c636e63;

// The first bytes of an exchange's first block. The rest of the block is the first bytes of the data.
struct Head {
  uint64_t mark, bytes, channel;
};
constexpr size_t kBlockBytes = 4096, kFirstBytes = kBlockBytes - sizeof(Head);

Membership membership("torchrun or srun");

std::string nameOf(int rank) { return "rank " + std::to_string(rank); }

class NcclCommunicator : public Communicator {
public:
  NcclCommunicator(const LauncherRank &launched, MeetingPoint point)
      : Communicator(launched.rank, launched.size), point_(std::move(point)),
        meeting_(point_, launched.rank, launched.size) {}
  ~NcclCommunicator() override;

  Status open(const std::string &target);
  // Releases `self` if a thread is left behind in NCCL.
  static Status join(std::unique_ptr<NcclCommunicator> &self);
  Status meetPeers();

  const char *transport() const override { return kTransport; }
  bool servesThreads() const override { return false; }
  void abort(const Status &reason) override;
  Status health() const override;
  const std::shared_ptr<NcclComms> &comms() const { return comms_; }

protected:
  Status doExchange(const Exchange &step) override;

private:
  // A wait that the watchdog watches.
  class Wait {
  public:
    Wait(NcclCommunicator &comm, std::string what) : comm_(comm) {
      std::lock_guard<std::mutex> lock(comm_.mutex_);
      comm_.awaited_ = std::move(what);
      ++comm_.waits_;
    }
    ~Wait() { say(""); }
    // Changes the text of the same wait.
    void say(std::string what) {
      std::lock_guard<std::mutex> lock(comm_.mutex_);
      comm_.awaited_ = std::move(what);
    }

  private:
    NcclCommunicator &comm_;
  };

  Status exchangeAll(const Exchange &step);
  Status exchangePiece(const Exchange &step, size_t sendBytes, size_t receiveBytes);
  Status checkHead(const Exchange &step);
  Status explain(Status status);
  void sayGoodbye();
  void watch();
  void stopWatching();
  bool findTrouble(std::string *why);
  bool waitsTooLong(std::string *why);
  std::string nameLost(const std::string &error);
  void fail(const std::string &why);
  bool isBroken() const { return failed_ || (monitor() && monitor()->failed()); }
  PeerMonitor *monitor() const { return watched_.load(); }

  const MeetingPoint point_;
  const NcclMeeting meeting_;
  const cuda::Nccl *nccl_ = nullptr;
  std::shared_ptr<NcclComms> comms_; // of one communicator, when it has been made
  NcclExchange exchange_;
  std::unique_ptr<PeerMonitor> monitor_;
  std::atomic<PeerMonitor *> watched_{nullptr}; // monitor_, when it exists
  std::atomic<bool> isBusy_{false}, failed_{false}, isLeaving_{false};

  mutable std::mutex mutex_; // guards all below, except the watchdog's own
  std::condition_variable changed_;
  std::string reason_;  // why it was given up; empty if the monitor has the reason
  std::string awaited_; // the ranks that a thread waits for; empty: none
  uint64_t waits_ = 0;
  bool stopping_ = false;
  // Only the watchdog uses these.
  uint64_t seenWait_ = 0;
  WaitClock clock_;
  std::thread watchdog_;
};

Status NcclCommunicator::open(const std::string &target) {
  CLEAVE_TRY(meeting_.open());
  CLEAVE_TRY(cuda::openNccl(&nccl_));
  CLEAVE_TRY(exchange_.open(target, rank()));
  comms_ = std::make_shared<NcclComms>(*nccl_, exchange_.driver(), exchange_.device());
  watchdog_ = std::thread([this] { watch(); });
  return Status::ok();
}

// If this object has given up meanwhile, keep() aborts the new communicator.
Status NcclCommunicator::join(std::unique_ptr<NcclCommunicator> &self) {
  WatchedCall call([self = self.get()] {
    Wait wait(*self, self->meeting_.awaited());
    Handle comm = nullptr;
    CLEAVE_TRY(self->exchange_.enter());
    CLEAVE_TRY(self->meeting_.join(
        *self->nccl_, [self] { return self->failed_.load(); }, [&](const std::string &what) { wait.say(what); },
        &comm));
    return self->comms_->keep(comm) ? Status::ok() : self->health();
  });
  while (!call.isOver(kPeriod) && !self->failed_)
    continue;
  if (!call.isOver(WatchedCall::kWakeTime)) {
    Status lost = self->health();
    membership.end(/*isLost=*/true);
    self.release(); // the thread may still use it
    return lost;
  }
  return self->failed_ ? self->health() : call.status();
}

Status NcclCommunicator::meetPeers() {
  std::vector<PeerIdentity> peers(static_cast<size_t>(size()));
  PeerIdentity mine = PeerIdentity::self();
  CLEAVE_TRY(allGather(&mine, sizeof mine, peers.data(), kControlChannel).in("joining the other ranks"));
  monitor_ = std::make_unique<PeerMonitor>(rank(), std::move(peers), nullptr);
  watched_ = monitor_.get();
  return Status::ok();
}

// If a rank is lost, the ranks do not agree to leave.
NcclCommunicator::~NcclCommunicator() {
  bool isInOrder = monitor_ && !isBroken();
  if (isInOrder)
    sayGoodbye();
  if (monitor_)
    monitor_->stop();
  stopWatching(); // it may find that a rank is lost
  bool isLost = isBroken();
  if (comms_ && isLost)
    comms_->abort();
  comms_.reset();
  membership.end(isLost);
}

// Until all ranks have come here, the loss of one is an error. After that it is not: a process may end as soon as it
// knows that nobody watches it any more.
void NcclCommunicator::sayGoodbye() {
  bool all = true;
  if (!agree(true, &all, kLeaveChannel).isOk())
    return;
  monitor_->stop();
  isLeaving_ = true;
  static_cast<void>(agree(true, &all, kLeaveChannel)); // this rank's work is done, even if another rank fails now
}

void NcclCommunicator::abort(const Status &) {
  if (PeerMonitor *monitor = this->monitor())
    monitor->fail(); // the watchdog then aborts
}

Status NcclCommunicator::health() const {
  if (!isBroken())
    return Status::ok();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!reason_.empty())
      return peerLost(reason_);
  }
  return monitor() ? monitor()->reason() : peerLost("another rank is lost");
}

Status NcclCommunicator::doExchange(const Exchange &step) {
  if (isBusy_.exchange(true))
    return internal("two threads of this process exchange bytes at the same time; by NCCL, one does");
  Status status = exchangeAll(step);
  isBusy_ = false;
  return status;
}

Status NcclCommunicator::exchangeAll(const Exchange &step) {
  cuda::ContextScope scope(exchange_.driver(), exchange_.context());
  CLEAVE_TRY(Status(scope.status()));
  size_t toSend = step.to >= 0 ? step.sendBytes : 0, toReceive = step.from >= 0 ? step.receiveBytes : 0;
  auto *source = static_cast<const std::byte *>(step.sendData);
  auto *target = static_cast<std::byte *>(step.receiveData);
  Head head{kMark, toSend, step.channel};
  size_t sent = std::min(toSend, kFirstBytes), received = std::min(toReceive, kFirstBytes);
  std::memcpy(exchange_.outgoing(), &head, sizeof head);
  if (sent)
    std::memcpy(exchange_.outgoing() + sizeof head, source, sent);
  CLEAVE_TRY(exchangePiece(step, step.to >= 0 ? kBlockBytes : 0, step.from >= 0 ? kBlockBytes : 0));
  if (step.from >= 0)
    CLEAVE_TRY(checkHead(step));
  if (received)
    std::memcpy(target, exchange_.incoming() + sizeof head, received);
  // Both sides of an exchange send and receive their pieces in the same order, so no rank waits for a piece that is not
  // under way.
  while (sent < toSend || received < toReceive) {
    size_t out = std::min(NcclExchange::kPieceBytes, toSend - sent);
    size_t in = std::min(NcclExchange::kPieceBytes, toReceive - received);
    if (out)
      std::memcpy(exchange_.outgoing(), source + sent, out);
    CLEAVE_TRY(exchangePiece(step, out, in));
    if (in)
      std::memcpy(target + received, exchange_.incoming(), in);
    sent += out;
    received += in;
  }
  return Status::ok();
}

Status NcclCommunicator::exchangePiece(const Exchange &step, size_t sendBytes, size_t receiveBytes) {
  CLEAVE_TRY(health());
  int to = sendBytes ? step.to : -1, from = receiveBytes ? step.from : -1;
  std::string ranks = nameOf(from >= 0 ? from : to);
  if (from >= 0 && to >= 0 && from != to)
    ranks += " or " + std::to_string(to);
  Wait wait(*this, std::move(ranks));
  Status status;
  {
    NcclComms::Use use(*comms_);
    if (!use)
      return health();
    status = exchange_.begin(*nccl_, comms_->first(), to, sendBytes, from, receiveBytes);
  }
  bool isDone = false;
  for (long polls = 0; status.isOk() && !isDone && !failed_; ++polls) {
    status = exchange_.poll(&isDone);
    if (!isDone && polls > 200)
      std::this_thread::sleep_for(std::chrono::microseconds(polls < 2000 ? 5 : 50));
  }
  if (failed_) // aborted work looks done
    return health();
  return status.isOk() ? status : explain(std::move(status));
}

// Reports a lost rank: NCCL often notices one only by an error.
Status NcclCommunicator::explain(Status status) {
  fail(nameLost(status.message()));
  return health();
}

Status NcclCommunicator::checkHead(const Exchange &step) {
  Head head;
  std::memcpy(&head, exchange_.incoming(), sizeof head);
  if (head.mark == kMark && head.channel == step.channel && head.bytes == step.receiveBytes)
    return Status::ok();
  std::string from = nameOf(step.from);
  if (head.mark == kMark && head.channel == kLeaveChannel)
    fail(from + " has ended its session, and others wait for it; all processes must make the same calls");
  else
    fail("expected " + std::to_string(step.receiveBytes) + " bytes from " + from + " on channel " +
           std::to_string(step.channel) + "; got: " + std::to_string(head.bytes) + " on channel " +
           std::to_string(head.channel) + "; the ranks' plans disagree");
  return health();
}

void NcclCommunicator::watch() {
  static_cast<void>(exchange_.enter()); // cannot fail: it did not before
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait_for(lock, kPeriod, [this] { return stopping_; });
      if (stopping_)
        return;
    }
    std::string why;
    if (findTrouble(&why)) {
      fail(why);
      return comms_->abort();
    }
  }
}

void NcclCommunicator::stopWatching() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (watchdog_.joinable())
    watchdog_.join();
}

bool NcclCommunicator::findTrouble(std::string *why) {
  if (isBroken())
    return true;
  if (!monitor() && (terminationNoted() || endRequested())) {
    *why = "stopped by a signal while it was joining the other ranks by NCCL";
    return true;
  }
  if (cuda::Result error = comms_->error(); error && !isLeaving_) {
    *why = nameLost(checkNccl(error, "communication").message());
    return true;
  }
  return waitsTooLong(why);
}

bool NcclCommunicator::waitsTooLong(std::string *why) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (awaited_.empty() || seenWait_ != waits_)
    clock_ = WaitClock();
  seenWait_ = waits_;
  double waited = clock_.look(secondsNow());
  if (awaited_.empty() || waited <= (isLeaving_ ? kGoodbyeSeconds : timeoutSeconds()))
    return false;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.0f", waited);
  *why = nameOf(rank()) + " waited " + seconds + " s for " + awaited_ + "; CLEAVE_COMM_TIMEOUT_S sets the limit";
  return true;
}

// NCCL does not say which rank is lost. Waits for the monitor to find out. Then the text is empty, because the monitor
// has the reason.
std::string NcclCommunicator::nameLost(const std::string &error) {
  for (double end = secondsNow() + kNamedSeconds; secondsNow() < end && !isLeaving_;
       std::this_thread::sleep_for(kPeriod))
    if (monitor() && monitor()->failed())
      return "";
  return error + " (another rank is lost, or the network between them)";
}

// Sets the reason before the waiting thread can see that its wait has ended.
void NcclCommunicator::fail(const std::string &why) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!failed_)
      reason_ = why;
    failed_ = true;
  }
  if (PeerMonitor *monitor = this->monitor())
    monitor->fail();
}

} // namespace

Status createNcclCommunicator(const std::string &target, const LauncherRank &launched, const MeetingPoint &point,
                              std::unique_ptr<Communicator> *result) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  CLEAVE_TRY(membership.check());
  auto communicator = std::make_unique<NcclCommunicator>(launched, point);
  CLEAVE_TRY(communicator->open(target));
  membership.begin();
  CLEAVE_TRY(NcclCommunicator::join(communicator));
  CLEAVE_TRY(communicator->meetPeers());
  *result = std::move(communicator);
  return Status::ok();
}

std::shared_ptr<NcclComms> ncclCommsOf(const Communicator &host) {
  if (std::string_view(host.transport()) != kTransport)
    return nullptr;
  return static_cast<const NcclCommunicator &>(host).comms();
}

} // namespace cleave::rt

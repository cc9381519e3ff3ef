#include "runtime/comm/PeerMonitor.h"

#include "runtime/base/Clock.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Log.h"
#include "runtime/base/OptionText.h"
#include "runtime/base/Termination.h"
#include "runtime/base/WaitClock.h"
#include "runtime/comm/Communicator.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string_view>
#include <unistd.h>

namespace cleave::rt {
namespace {

constexpr std::chrono::milliseconds kPeriod{100};
// How long a survivor stays. When it is gone, launchers end the others. They may not have reported the loss yet, and
// would find this process dead and take it for the cause.
constexpr std::chrono::milliseconds kStay{500};
constexpr double kLookSeconds = 0.1;
// After SIGTERM: the time that a peer may need to disappear after the launcher has seen it die.
constexpr double kGraceSeconds = 0.3;
// The time for which messages of a process that has left may still be on their way.
constexpr double kOnTheWaySeconds = 2;

std::string nameOf(int rank) { return "rank " + std::to_string(rank); }

// True also for a process that has ended, but that its parent has not waited for yet (a script that waits for another
// one).
bool hasEnded(int64_t process) {
  if (::kill(static_cast<pid_t>(process), 0) != 0)
    return errno == ESRCH;
  std::string stat;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/stat"), stat);
  size_t name = stat.rfind(") "); // the last one, because a name may contain ") "
  return name != std::string::npos && name + 2 < stat.size() && (stat[name + 2] == 'Z' || stat[name + 2] == 'X');
}

} // namespace

PeerIdentity PeerIdentity::self() {
  // Processes see each other under these numbers if they share a kernel and a process namespace.
  std::string boot, space(PATH_MAX, '\0');
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  ssize_t size = ::readlink("/proc/self/ns/pid", space.data(), space.size());
  space.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return {fnv1a(boot + " " + space), ::getpid(), envNumber(kCommHeartbeat)};
}

Status checkSameBeats(const std::vector<PeerIdentity> &peers) {
  for (size_t peer = 1; peer < peers.size(); ++peer)
    if (peers[peer].beatLimit != peers[0].beatLimit)
      return invalidArgument(std::string(kCommHeartbeat.name) + ": process " + std::to_string(peer) + " has " +
                             realText(peers[peer].beatLimit) + ", and the first one has " +
                             realText(peers[0].beatLimit) +
                             "; all processes need the same. Open MPI passes a variable to other machines with "
                             "`mpirun -x " +
                             kCommHeartbeat.name + "`");
  return Status::ok();
}

// The words after "rank N" in the texts that lose() gets.
constexpr const char *kLosses[] = {" (process ", " has not answered", " has ended its session", " is lost",
                                   " has failed"};

std::string putLossFirst(const std::string &message) {
  constexpr std::string_view kRank = ": rank ";
  for (size_t at = message.find(kRank); at != std::string::npos; at = message.find(kRank, at + 1)) {
    size_t digits = at + kRank.size(), end = message.find_first_not_of("0123456789", digits);
    for (const char *loss : kLosses)
      if (end != std::string::npos && end > digits && message.compare(end, std::strlen(loss), loss) == 0)
        return message.substr(at + 2) + "; this process was in " + message.substr(0, at);
  }
  return message;
}

PeerMonitor::PeerMonitor(int rank, std::vector<PeerIdentity> peers, ExchangeBeats exchange)
    : rank_(rank), peers_(std::move(peers)), exchange_(std::move(exchange)),
      limitSeconds_(exchange_ ? envNumber(kCommHeartbeat) : 0), left_(peers_.size()) {
  thread_ = std::thread([this] { run(); });
}

PeerMonitor::~PeerMonitor() { stop(); }

Status PeerMonitor::reason() const {
  reported_ = true;
  std::lock_guard<std::mutex> lock(mutex_);
  return peerLost(text_);
}

void PeerMonitor::lose(int rank, std::string text, Kind kind) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (failed_)
    return;
  news_ = {kind, rank};
  text_ = std::move(text);
  failed_ = true;
  changed_.notify_all();
}

void PeerMonitor::fail() {
  reported_ = true; // the code that failed reports it
  lose(rank_, "this rank has failed", Failed);
}

void PeerMonitor::miss(int rank) {
  lose(rank, nameOf(rank) + " has ended its session, and others wait for it; all processes must make the same calls",
       Missed);
}

void PeerMonitor::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable())
    thread_.join();
}

int PeerMonitor::findDead() const {
  for (size_t peer = 0; peer < peers_.size(); ++peer)
    if (peers_[peer].machine == peers_[static_cast<size_t>(rank_)].machine && !left_[peer] &&
        hasEnded(peers_[peer].process))
      return static_cast<int>(peer);
  return -1;
}

// Looks for lost peers. Returns true if there is nothing more to wait for.
bool PeerMonitor::look() {
  double time = secondsNow();
  if (failed_ || time - lookedAt_ < kLookSeconds)
    return failed_;
  if (lookedAt_ > 0) // while this process was stopped, it could hear nobody
    heardAt_ += std::max(0.0, time - lookedAt_ - WaitClock::kSliceSeconds);
  lookedAt_ = time;
  if (int dead = findDead(); dead >= 0)
    lose(dead,
         nameOf(dead) + " (process " + std::to_string(peers_[static_cast<size_t>(dead)].process) +
             ") has died; its own messages say why, or those of its machine if it was killed (for lack of memory, "
             "for example)");
  else if (limitSeconds_ > 0 && time - heardAt_ > limitSeconds_) {
    int before = (rank_ + static_cast<int>(peers_.size()) - 1) % static_cast<int>(peers_.size());
    lose(before, nameOf(before) + " has not answered for " + realText(limitSeconds_) +
                     " s: it is stopped, or its machine is lost; CLEAVE_COMM_HEARTBEAT_S sets the limit");
  } else if (terminationNoted() && !endsInOrder()) {
    terminatedAt_ = terminatedAt_ == 0 ? time : terminatedAt_;
    if (time - terminatedAt_ > kGraceSeconds)
      lose(rank_, "stopped by SIGTERM: a rank on another machine is lost, or somebody ends this run", Failed);
  }
  return failed_;
}

void PeerMonitor::hear(const Beat &beat) {
  heardAt_ = secondsNow();
  if (beat.kind == Leaving) {
    left_[static_cast<size_t>(beat.rank)] = true;
    ++heardLeaving_;
    if (beat.rank != next())
      leaving_.push_back(beat.rank);
  } else if (beat.kind == Missed)
    miss(beat.rank);
  else if (beat.kind == Lost)
    lose(beat.rank, nameOf(beat.rank) + " is lost, as another rank has seen", Lost);
  else if (beat.kind == Failed)
    lose(beat.rank, nameOf(beat.rank) + " has failed; its message says why", Failed);
}

void PeerMonitor::exchangeBeat(bool hearsFrom, bool speaksTo) {
  bool tells = !leaving_.empty();
  Beat mine{tells ? Leaving : Alive, tells ? leaving_.front() : rank_}, theirs{Alive, -1};
  if (!hearsFrom)
    heardAt_ = secondsNow();
  if (!exchange_(speaksTo ? &mine : nullptr, hearsFrom ? &theirs : nullptr, stopping_, [this] { return look(); }))
    return;
  if (tells) {
    leaving_.pop_front();
    ++toldLeaving_;
  }
  if (hearsFrom)
    hear(theirs);
}

void PeerMonitor::run() {
  bool beats = peers_.size() > 1 && limitSeconds_ > 0, leaves = false, hearsFrom = beats, speaksTo = beats;
  heardAt_ = secondsNow();
  while (!failed_ && (hearsFrom || speaksTo || !stopping_)) {
    bool stops = stopping_;
    if (stops && !leaves)
      leaving_.push_back(rank_);
    leaves = stops;
    if (hearsFrom || speaksTo)
      exchangeBeat(hearsFrom, speaksTo);
    hearsFrom = beats && heardLeaving_ + 1 < peers_.size();
    speaksTo = beats && toldLeaving_ + 1 < peers_.size();
    std::unique_lock<std::mutex> lock(mutex_);
    if (!stopping_)
      changed_.wait_for(lock, kPeriod, [this] { return stopping_ || failed_; });
    lock.unlock();
    look();
  }
  if (!failed_)
    return;
  passOn(speaksTo);
  insist();
}

// Passes the news on to the next process, unless that one is gone. A process that is missed still waits for the others
// to leave.
void PeerMonitor::passOn(bool speaksTo) {
  Beat news;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    news = news_;
  }
  double begin = secondsNow();
  if (speaksTo && (news.rank != next() || news.kind == Missed))
    exchange_(&news, nullptr, /*hurries=*/false, [&] { return secondsNow() - begin > 1; });
  std::this_thread::sleep_for(kStay);
}

// Reports the loss here if nobody else does. The thread that runs the plan finds it at its next exchange. But if that
// thread computes for long, or waits for something else, the launcher may kill the process before it has told the user
// anything.
void PeerMonitor::insist() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(500), [this] { return stopping_.load(); });
  if (!reported_)
    log(LogLevel::Error, rank_, text_);
  if (!terminationNoted() || changed_.wait_for(lock, std::chrono::seconds(5), [this] { return stopping_.load(); }))
    return;
  std::signal(SIGTERM, SIG_DFL); // now the process ends as the signal asks
  std::raise(SIGTERM);
}

bool PeerWait::isVain(int from, int to) {
  if (monitor_.failed())
    return true;
  auto isGone = [&](int peer) { return peer >= 0 && monitor_.hasLeft(peer); };
  if (!isGone(from) && !isGone(to)) {
    alone_ = 0;
    return false;
  }
  auto time = static_cast<uint64_t>(nanosecondsNow());
  alone_ = alone_ ? alone_ : time;
  if (static_cast<double>(time - alone_) * 1e-9 < kOnTheWaySeconds)
    return false;
  monitor_.miss(isGone(from) ? from : to);
  return true;
}

} // namespace cleave::rt

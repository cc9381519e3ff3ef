#include "runtime/comm/TcpMeeting.h"

#include "runtime/base/Counted.h"
#include "runtime/base/Log.h"
#include "runtime/base/Termination.h"
#include "runtime/base/Trace.h"
#include "runtime/base/WaitClock.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <poll.h>
#include <random>
#include <thread>

namespace cleave::rt {
namespace {

constexpr int kSliceMs = 50;
constexpr double kConnectSeconds = 5;
constexpr double kAnswerSeconds = 10;
constexpr double kToldSeconds = 5; // when a wait is told

double now() { return static_cast<double>(TraceSink::now()) * 1e-9; }

std::string placeText(const TcpPlace &place) {
  return place.host + ":" + std::to_string(place.port) + " (" + place.portSource + ")";
}

// A wait that the user is told of, and that ends.
class Patience {
public:
  Patience(double timeoutSeconds, int rank) : timeoutSeconds_(timeoutSeconds), rank_(rank) {}

  // Not ok when it is over. `what` is waited for, and why is it not there.
  template <typename Text> Status check(const Text &what) {
    double waited = clock_.look(now());
    if (terminationNoted())
      return peerLost("stopped by SIGTERM while waiting for " + what() + ": another process has failed, or somebody ends this run");
    if (waited > timeoutSeconds_) {
      char seconds[32];
      std::snprintf(seconds, sizeof seconds, "%.6g", timeoutSeconds_);
      return peerLost("waited " + std::string(seconds) + " s for " + what() +
                      "; CLEAVE_COMM_TIMEOUT_S sets the limit");
    }
    if (waited > kToldSeconds && !told_) {
      told_ = true;
      log(LogLevel::Info, rank_, "waiting for " + what());
    }
    return Status::ok();
  }

private:
  WaitClock clock_;
  double timeoutSeconds_;
  int rank_;
  bool told_ = false;
};

Answer refusal(Reply reply, uint32_t number, const std::string &reason = "") {
  Answer answer;
  answer.reply = reply;
  answer.number = number;
  std::memcpy(answer.reason, reason.data(), std::min(reason.size(), sizeof answer.reason - 1));
  return answer;
}

// Rank 0's side.
class Host {
public:
  Host(const TcpPlace &place, double timeoutSeconds, TcpMeeting &meeting)
      : place_(place), meeting_(meeting), patience_(timeoutSeconds, 0), joined_(static_cast<size_t>(place.size)) {
    meeting.members.resize(joined_.size());
  }

  Status run() {
    Status listening = listenAt(listeningAddress(place_.host, place_.port), &meeting_.listener);
    if (!listening.isOk())
      return ioError("rank 0 cannot listen at port " + std::to_string(place_.port) + " (" + place_.portSource + "): " +
                     listening.message() +
                     "; if another program has it, CLEAVE_COMM_PORT gives all processes another one");
    Status status = gather();
    if (!status.isOk()) {
      tellAll(refusal(Reply::GivenUp, 0, status.message()));
      return status;
    }
    return welcomeAll();
  }

private:
  Status gather() {
    while (count_ + 1 < joined_.size()) {
      CLEAVE_TRY(patience_.check([&] { return missing(); }));
      waitForNews();
      while (Socket socket = acceptOne(meeting_.listener)) {
        if (guests_.size() == Guest::kMost)
          guests_.erase(guests_.begin());
        guests_.push_back({std::move(socket), {}, 0, now()});
      }
      if (hasNoDescriptors() && guests_.empty()) // else strangers hold them, and lose patience
        return noDescriptors();
      CLEAVE_TRY(hearGuests());
      CLEAVE_TRY(checkJoined());
    }
    return Status::ok();
  }

  void waitForNews() {
    std::vector<pollfd> polled{{meeting_.listener.descriptor(), POLLIN, 0}};
    for (const Guest &guest : guests_)
      polled.push_back({guest.socket.descriptor(), POLLIN, 0});
    for (const Socket &socket : joined_)
      polled.push_back({socket.descriptor(), POLLIN, 0}); // -1 is passed over
    ::poll(polled.data(), polled.size(), kSliceMs);
  }

  Status hearGuests() {
    double time = now();
    for (size_t i = 0; i < guests_.size();) {
      Guest &guest = guests_[i];
      bool stays = guest.read(time);
      if (stays && guest.isWhole()) {
        CLEAVE_TRY(admit(guest));
        stays = false;
      }
      if (stays)
        ++i;
      else
        guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return Status::ok();
  }

  void refuse(const Guest &guest, const Answer &answer) { sendAll(guest.socket, &answer, sizeof answer, 1); }

  // Not ok: the meeting is over.
  Status admit(Guest &guest) {
    const Hello &hello = guest.hello;
    std::string who = "rank " + std::to_string(hello.rank) + " (at " + peerAddress(guest.socket).text() + ")";
    auto size = static_cast<uint32_t>(place_.size);
    if (hello.kind != HelloKind::Join)
      return Status::ok();
    if (hello.key != place_.run && hello.version == kTcpVersion) {
      refuse(guest, refusal(Reply::OtherRun, size));
      log(LogLevel::Warning, 0, "a process of another run has come to " + placeText(place_) + " and was turned away");
      return Status::ok();
    }
    if (hello.version != kTcpVersion) {
      refuse(guest, refusal(Reply::OtherVersion, kTcpVersion));
      return invalidArgument(who + " has another version of Cleave's runtime; start the same file in all processes");
    }
    if (hello.number != size) {
      refuse(guest, refusal(Reply::OtherSize, size));
      return invalidArgument(who + " was started as one of " + counted(hello.number, "process") + ", this one as one of " +
                             std::to_string(size) + " (" + place_.variables + "); all need the same number");
    }
    if (hello.rank < 1 || hello.rank >= place_.size || joined_[static_cast<size_t>(hello.rank)]) {
      refuse(guest, refusal(Reply::Duplicate, size));
      return invalidArgument("two processes say that they are rank " + std::to_string(hello.rank) +
                             "; each needs a number of its own, from 0 to " + std::to_string(place_.size - 1));
    }
    auto rank = static_cast<size_t>(hello.rank);
    Member &member = meeting_.members[rank];
    member.address = peerAddress(guest.socket);
    member.address.port = hello.port;
    member.identity = hello.identity;
    joined_[rank] = std::move(guest.socket);
    ++count_;
    return Status::ok();
  }

  // Who has joined says nothing more: what can be read is the end.
  Status checkJoined() {
    for (size_t rank = 1; rank < joined_.size(); ++rank) {
      char byte = 0;
      size_t have = 0;
      if (joined_[rank] && receiveSome(joined_[rank], &byte, 1, &have) != Moved::Nothing)
        return peerLost("rank " + std::to_string(rank) +
                        " is lost: it has ended while others were waited for; its own messages say why");
    }
    return Status::ok();
  }

  std::string missing() const {
    std::string ranks;
    size_t listed = 0, all = joined_.size() - 1 - count_;
    for (size_t rank = 1; rank < joined_.size() && listed < 8; ++rank)
      if (!joined_[rank]) {
        ranks += (listed ? ", " : "") + std::to_string(rank);
        ++listed;
      }
    return (all == 1 ? "rank " : "ranks ") + ranks + (all > listed ? ", ..." : "") + " of " +
           std::to_string(place_.size) + " to come to " + placeText(place_);
  }

  void tellAll(const Answer &answer) {
    for (const Socket &socket : joined_)
      if (socket)
        sendAll(socket, &answer, sizeof answer, 1);
  }

  Status welcomeAll() {
    std::random_device random;
    meeting_.token = (uint64_t{random()} << 32) ^ random();
    meeting_.members[0].identity = PeerIdentity::self();
    Answer answer = refusal(Reply::Welcome, static_cast<uint32_t>(place_.size));
    answer.token = meeting_.token;
    for (size_t rank = 1; rank < joined_.size(); ++rank) {
      const Socket &socket = joined_[rank];
      if (!sendAll(socket, &answer, sizeof answer, kAnswerSeconds) ||
          !sendAll(socket, meeting_.members.data(), meeting_.members.size() * sizeof(Member), kAnswerSeconds))
        return peerLost("rank " + std::to_string(rank) + " is lost: it has ended before the first step");
    }
    return Status::ok();
  }

  const TcpPlace &place_;
  TcpMeeting &meeting_;
  Patience patience_;
  std::vector<Socket> joined_; // by rank
  size_t count_ = 0;           // of them
  std::vector<Guest> guests_;  // who have not said who they are
};

// Every other rank's side.
class Comer {
public:
  Comer(const TcpPlace &place, double timeoutSeconds, TcpMeeting &meeting)
      : place_(place), meeting_(meeting), patience_(timeoutSeconds, place.rank) {}

  Status run() {
    Status listening = listenAt(listeningAddress(place_.host, 0), &meeting_.listener);
    if (!listening.isOk())
      return ioError("this machine gives no port to listen at: " + listening.message());
    for (;;) {
      bool isThere = false;
      CLEAVE_TRY(attempt(&isThere));
      if (isThere)
        return Status::ok();
      CLEAVE_TRY(patience_.check([&] { return missing(); }));
      std::this_thread::sleep_for(std::chrono::milliseconds(2 * kSliceMs));
    }
  }

private:
  std::string missing() const {
    return "rank 0 at " + placeText(place_) + (why_.empty() ? "" : "; the last attempt: " + why_);
  }

  // Once through all addresses. Not ok: there is no sense in another attempt.
  Status attempt(bool *isThere) {
    std::vector<NetAddress> addresses;
    if (Status status = resolve(place_.host, place_.port, &addresses); !status.isOk()) {
      why_ = status.message();
      return Status::ok();
    }
    for (const NetAddress &address : addresses) {
      Socket socket;
      if (Status status = connectTo(address, kConnectSeconds, &socket); !status.isOk()) {
        why_ = status.message();
        continue;
      }
      CLEAVE_TRY(join(socket, isThere));
      if (*isThere)
        return Status::ok();
    }
    return Status::ok();
  }

  Status join(const Socket &socket, bool *isThere) {
    Hello hello;
    hello.key = place_.run;
    hello.rank = place_.rank;
    hello.number = static_cast<uint32_t>(place_.size);
    hello.identity = PeerIdentity::self();
    hello.port = localAddress(meeting_.listener).port;
    Answer answer;
    bool ended = !sendAll(socket, &hello, sizeof hello, kAnswerSeconds);
    if (!ended)
      CLEAVE_TRY(receive(socket, &answer, sizeof answer, &ended));
    if (ended) {
      why_ = "it closes the connection without an answer";
      return Status::ok();
    }
    if (answer.reply == Reply::Busy) {
      why_ = "a run is under way there";
      return Status::ok();
    }
    CLEAVE_TRY(checkAnswer(answer));
    meeting_.token = answer.token;
    meeting_.members.resize(static_cast<size_t>(place_.size));
    CLEAVE_TRY(receive(socket, meeting_.members.data(), meeting_.members.size() * sizeof(Member), &ended));
    if (ended)
      return peerLost("rank 0 is lost: it has ended while it told where the others are");
    NetAddress root = peerAddress(socket);
    for (Member &member : meeting_.members)
      if (member.address.isLoopback() || &member == &meeting_.members[0])
        std::memcpy(member.address.bytes, root.bytes, sizeof root.bytes);
    meeting_.members[0].address.port = place_.port;
    *isThere = true;
    return Status::ok();
  }

  // Rank 0 answers when all are there. `*ended` where it closes the connection first.
  Status receive(const Socket &socket, void *data, size_t bytes, bool *ended) {
    why_ = "connected; it says nothing, being another program, or waiting for other ranks";
    for (size_t have = 0; have < bytes;) {
      Moved moved = receiveSome(socket, static_cast<std::byte *>(data) + have, bytes - have, &have);
      if (have >= sizeof kTcpMagic && bytes == sizeof(Answer) && std::memcmp(data, &kTcpMagic, sizeof kTcpMagic) != 0)
        return invalidArgument("what listens at " + placeText(place_) +
                               " is another program; CLEAVE_COMM_PORT gives all processes another port");
      *ended = moved == Moved::Ended;
      if (*ended)
        return Status::ok();
      pollfd wait{socket.descriptor(), POLLIN, 0};
      if (moved == Moved::Nothing)
        ::poll(&wait, 1, kSliceMs);
      CLEAVE_TRY(patience_.check([&] { return missing(); }));
    }
    return Status::ok();
  }

  Status checkAnswer(Answer &answer) const {
    std::string root = "rank 0 at " + placeText(place_), number = std::to_string(answer.number);
    answer.reason[sizeof answer.reason - 1] = '\0';
    switch (answer.reply) {
    case Reply::Welcome:
      return answer.number == static_cast<uint32_t>(place_.size)
                 ? Status::ok()
                 : dataLoss(root + " has sent an answer for " + number + " processes");
    case Reply::OtherVersion:
      return invalidArgument(root + " has another version of Cleave's runtime; start the same file in all processes");
    case Reply::OtherRun:
      return invalidArgument(root + " belongs to another run; give each run a MASTER_PORT of its own");
    case Reply::OtherSize:
      return invalidArgument(root + " was started as one of " + number + " processes, this one says " +
                             place_.variables + "; all need the same number");
    case Reply::Duplicate:
      return invalidArgument("another process says that it is rank " + std::to_string(place_.rank) + ", too (" +
                             place_.variables + "); each needs a number of its own");
    case Reply::GivenUp:
      return peerLost("rank 0 has given up: " + std::string(answer.reason));
    case Reply::Busy:
      break;
    }
    return dataLoss(root + " has sent an answer that this process does not know");
  }

  const TcpPlace &place_;
  TcpMeeting &meeting_;
  Patience patience_;
  std::string why_; // the last attempt failed
};

} // namespace

bool Guest::read(double now) {
  Moved moved = receiveSome(socket, reinterpret_cast<std::byte *>(&hello) + have, sizeof hello - have, &have);
  bool isStranger = have >= sizeof hello.magic && hello.magic != kTcpMagic;
  return !isStranger && (isWhole() || (moved != Moved::Ended && now - since < kPatienceSeconds));
}

Status TcpMeeting::hold(const TcpPlace &place, double timeoutSeconds, TcpMeeting *result) {
  return place.rank == 0 ? Host(place, timeoutSeconds, *result).run() : Comer(place, timeoutSeconds, *result).run();
}

} // namespace cleave::rt

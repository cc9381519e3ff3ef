#include "runtime/comm/TcpCommunicator.h"

#include "runtime/base/Log.h"
#include "runtime/base/Trace.h"
#include "runtime/base/WaitClock.h"
#include "runtime/comm/PeerMonitor.h"
#include "runtime/comm/TcpLinks.h"

#include <poll.h>

namespace cleave::rt {
namespace {

constexpr int kSliceMs = 20;
constexpr int kHurryMs = 1; // while somebody connects, or the user waits
// How long the monitor may take to say why a connection has ended, which it knows better.
constexpr double kNamedSeconds = 1.5;

// There is one at a time: rank 0's port is one.
class Membership {
public:
  bool isTaken() const { return taken_; }
  ~Membership() {
    if (taken_)
      isJoined = false;
  }

private:
  static inline std::atomic<bool> isJoined{false};
  bool taken_ = !isJoined.exchange(true);
};

double now() { return static_cast<double>(TraceSink::now()) * 1e-9; }

// One direction of an exchange: the head of the message, then its bytes.
struct Way {
  int peer = -1; // -1: none
  TcpLink *link = nullptr;
  std::byte *data = nullptr;
  size_t bytes = 0, done = 0; // with the head
  MessageHead head;

  bool isOver() const { return peer < 0 || done == sizeof head + bytes; }

  // As far as it goes. A short message is sent whole or not at all: what is sent after one that nobody took is
  // understood.
  Moved send() { return sendSome(link->socket, {&head, sizeof head}, {data, bytes}, &done); }
  // The head first: its bytes are not the caller's.
  Moved receive() {
    if (done < sizeof head)
      return receiveSome(link->socket, reinterpret_cast<std::byte *>(&head) + done, sizeof head - done, &done);
    size_t at = done - sizeof head;
    return receiveSome(link->socket, data + at, bytes - at, &done);
  }
};

class TcpCommunicator : public Communicator {
public:
  TcpCommunicator(const TcpPlace &place, std::unique_ptr<Membership> membership, TcpMeeting meeting)
      : Communicator(place.rank, place.size), membership_(std::move(membership)), links_(std::move(meeting), place.rank) {
    std::vector<PeerIdentity> peers;
    for (const Member &member : links_.members())
      peers.push_back(member.identity);
    monitor_ = std::make_unique<PeerMonitor>(
        rank(), std::move(peers),
        [this](const PeerMonitor::Beat *out, PeerMonitor::Beat *in, bool hurries,
               const std::function<bool()> &giveUp) { return beat(out, in, hurries, giveUp); });
  }

  const char *transport() const override { return "tcp"; }
  void abort(const Status &) override { monitor_->fail(); }
  Status health() const override { return monitor_->failed() ? monitor_->reason() : Status::ok(); }

protected:
  Status doExchange(const Exchange &step) override {
    CLEAVE_TRY(health());
    PeerWait wait(*monitor_);
    WaitClock clock;
    Ended ended;
    Status late;
    auto giveUp = [&](int from, int to) {
      double waited = clock.look(now());
      if (waited > timeoutSeconds())
        late = peerLost("rank " + std::to_string(rank()) + ": " + waitedText(from, to));
      else if (waited > 0)
        late = links_.health();
      return !late.isOk() || wait.isVain(from, to);
    };
    CLEAVE_TRY(move(step, kSliceMs, giveUp, &ended));
    if (ended.peer >= 0)
      return nameLost(ended.peer);
    return ended.gaveUp ? (late.isOk() ? health() : late) : Status::ok();
  }

private:
  // How an exchange ended before it was done.
  struct Ended {
    bool gaveUp = false;
    int peer = -1; // whose connection has ended
  };

  std::string waitedText(int from, int to) const {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.6g", timeoutSeconds());
    std::string peers = "rank " + std::to_string(from >= 0 ? from : to);
    if (from >= 0 && to >= 0 && from != to)
      peers += " or " + std::to_string(to);
    return "waited " + std::string(seconds) + " s for " + peers + "; CLEAVE_COMM_TIMEOUT_S sets the limit";
  }

  Status nameLost(int peer) {
    for (double end = now() + kNamedSeconds; !monitor_->failed() && now() < end;)
      ::poll(nullptr, 0, kSliceMs);
    monitor_->disconnect(peer);
    return health();
  }

  // Both ways at once, so that two ranks that send to each other do not wait for room. `giveUp` is asked many times a
  // second, with the peers that are waited for.
  template <typename GiveUp> Status move(const Exchange &step, int sliceMs, const GiveUp &giveUp, Ended *ended) {
    Way out, in;
    if (step.to >= 0) {
      out.peer = step.to;
      out.data = static_cast<std::byte *>(const_cast<void *>(step.sendData)); // is only read
      out.bytes = step.sendBytes;
      Status status = links_.outgoing(step.to, step.channel, &out.link);
      if (status.code() == Code::PeerLost) {
        ended->peer = step.to;
        return Status::ok();
      }
      CLEAVE_TRY(std::move(status));
      out.head.bytes = step.sendBytes;
      out.head.sequence = out.link->sequence++;
    }
    in.peer = step.from;
    in.data = static_cast<std::byte *>(step.receiveData);
    in.bytes = step.receiveBytes;
    for (double asked = now();;) {
      Moved sent = out.isOver() ? Moved::Nothing : out.send(), received = Moved::Nothing;
      CLEAVE_TRY(receive(in, step.channel, &received));
      if (received == Moved::Ended || sent == Moved::Ended) {
        ended->peer = received == Moved::Ended ? in.peer : out.peer;
        return Status::ok();
      }
      if (out.isOver() && in.isOver())
        return Status::ok();
      if (sent == Moved::Nothing && received == Moved::Nothing)
        await(out, in, sliceMs);
      if (double time = now(); (time - asked) * 1000 >= sliceMs) {
        asked = time;
        ended->gaveUp = giveUp(in.isOver() ? -1 : in.peer, out.isOver() ? -1 : out.peer);
        if (ended->gaveUp)
          return Status::ok();
      }
    }
  }

  Status receive(Way &in, unsigned channel, Moved *moved) {
    if (in.isOver())
      return Status::ok();
    if (!in.link)
      in.link = links_.incoming(in.peer, channel);
    if (!in.link)
      return Status::ok();
    bool hadHead = in.done >= sizeof in.head;
    *moved = in.receive();
    return hadHead || in.done < sizeof in.head ? Status::ok() : checkHead(in);
  }

  // Before a byte goes into the caller's memory.
  Status checkHead(const Way &in) const {
    std::string who = "rank " + std::to_string(rank()) + ": ", from = "rank " + std::to_string(in.peer);
    if (in.head.mark != MessageHead::kMark || in.head.sequence != in.link->sequence++)
      return internal(who + "what " + from + " has sent is no message of this run");
    if (in.head.bytes != in.bytes)
      return internal(who + "expected " + std::to_string(in.bytes) + " bytes from " + from + "; got: " +
                      std::to_string(in.head.bytes) + "; the ranks' plans disagree");
    return Status::ok();
  }

  static void await(const Way &out, const Way &in, int sliceMs) {
    pollfd polled[2];
    nfds_t count = 0;
    if (!out.isOver())
      polled[count++] = {out.link->socket.descriptor(), POLLOUT, 0};
    if (!in.isOver() && in.link)
      polled[count++] = {in.link->socket.descriptor(), POLLIN, 0};
    bool isConnecting = !in.isOver() && !in.link;
    ::poll(polled, count, isConnecting ? kHurryMs : sliceMs);
  }

  int beat(const PeerMonitor::Beat *out, PeerMonitor::Beat *in, bool hurries, const std::function<bool()> &giveUp) {
    Exchange step;
    if (out) {
      step.to = (rank() + 1) % size();
      step.sendData = out;
      step.sendBytes = sizeof *out;
    }
    if (in) {
      step.from = (rank() + size() - 1) % size();
      step.receiveData = in;
      step.receiveBytes = sizeof *in;
    }
    step.channel = TcpLinks::kBeatChannel;
    Ended ended;
    Status status = move(step, hurries ? kHurryMs : kSliceMs, [&](int, int) { return giveUp(); }, &ended);
    if (ended.peer < 0 && status.isOk())
      return ended.gaveUp ? PeerMonitor::kGaveUp : PeerMonitor::kExchanged;
    int peer = status.isOk() ? ended.peer : step.from;
    for (double end = now() + kNamedSeconds; now() < end;) {
      if (giveUp())
        return PeerMonitor::kGaveUp;
      ::poll(nullptr, 0, kSliceMs);
    }
    return peer;
  }

  // Destroyed from the last: this one takes leave of the others, then the connections end.
  std::unique_ptr<Membership> membership_;
  TcpLinks links_;
  std::unique_ptr<PeerMonitor> monitor_;
};

} // namespace

Status createTcpCommunicator(const TcpPlace &place, std::unique_ptr<Communicator> *result) {
  auto membership = std::make_unique<Membership>();
  if (!membership->isTaken())
    return invalidArgument("a process that was started as one of several (" + place.variables +
                           ") has one session at a time; destroy the other one first");
  TcpMeeting meeting;
  CLEAVE_TRY(TcpMeeting::hold(place, envNumber("CLEAVE_COMM_TIMEOUT_S", 300), &meeting));
  *result = std::make_unique<TcpCommunicator>(place, std::move(membership), std::move(meeting));
  return Status::ok();
}

} // namespace cleave::rt

#include "runtime/comm/TcpLinks.h"

#include "runtime/base/Trace.h"

#include <algorithm>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace cleave::rt {
namespace {

constexpr double kConnectSeconds = 10;

double now() { return static_cast<double>(TraceSink::now()) * 1e-9; }

} // namespace

TcpLinks::TcpLinks(TcpMeeting meeting, int rank)
    : meeting_(std::move(meeting)), rank_(rank), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  acceptor_ = std::thread([this] { accept(); });
}

TcpLinks::~TcpLinks() {
  stopping_ = true;
  ::eventfd_write(wake_, 1);
  acceptor_.join();
  ::close(wake_);
}

Status TcpLinks::outgoing(int to, unsigned channel, TcpLink **link) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    *link = &outgoing_[{to, channel}];
  }
  return (*link)->socket ? Status::ok() : open(to, channel, **link);
}

Status TcpLinks::open(int to, unsigned channel, TcpLink &link) const {
  Hello hello;
  hello.kind = HelloKind::Open;
  hello.key = meeting_.token;
  hello.rank = rank_;
  hello.number = channel;
  for (double end = now() + kConnectSeconds;;) {
    Socket socket;
    if (Status status = connectTo(meeting_.members[static_cast<size_t>(to)].address, kConnectSeconds, &socket);
        !status.isOk())
      return hasNoDescriptors() ? noDescriptors() : peerLost(status.message());
    uint64_t token = 0;
    size_t have = 0;
    Moved moved = Moved::Ended;
    if (sendAll(socket, &hello, sizeof hello, kConnectSeconds))
      for (moved = Moved::Nothing; moved != Moved::Ended && have < sizeof token && now() < end;) {
        pollfd wait{socket.descriptor(), POLLIN, 0};
        ::poll(&wait, 1, 50);
        moved = receiveSome(socket, reinterpret_cast<std::byte *>(&token) + have, sizeof token - have, &have);
      }
    if (have == sizeof token && token == meeting_.token) {
      link.socket = std::move(socket);
      return Status::ok();
    }
    if (now() > end)
      return peerLost("the connection is not taken");
    ::poll(nullptr, 0, 10);
  }
}

Status TcpLinks::health() const { return crowded_ ? noDescriptors() : Status::ok(); }

TcpLink *TcpLinks::incoming(int from, unsigned channel) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = incoming_.find({from, channel});
  return found == incoming_.end() || !found->second.socket ? nullptr : &found->second;
}

// Whoever does not know the token is nobody of this run.
void TcpLinks::admit(Guest &guest) {
  const Hello &hello = guest.hello;
  if (hello.kind == HelloKind::Join) {
    Answer busy;
    busy.reply = Reply::Busy;
    sendAll(guest.socket, &busy, sizeof busy, 0.1);
    return;
  }
  bool isOurs = hello.version == kTcpVersion && hello.kind == HelloKind::Open && hello.key == meeting_.token &&
                hello.rank >= 0 && hello.rank < size() && hello.rank != rank_ && hello.number < kTcpChannels;
  if (!isOurs)
    return;
  std::lock_guard<std::mutex> lock(mutex_);
  TcpLink &link = incoming_[{hello.rank, hello.number}];
  if (!link.socket && sendAll(guest.socket, &meeting_.token, sizeof meeting_.token, 1))
    link.socket = std::move(guest.socket);
}

void TcpLinks::accept() {
  std::vector<Guest> guests;
  while (!stopping_) {
    std::vector<pollfd> polled{{wake_, POLLIN, 0}, {meeting_.listener.descriptor(), POLLIN, 0}};
    for (const Guest &guest : guests)
      polled.push_back({guest.socket.descriptor(), POLLIN, 0});
    ::poll(polled.data(), polled.size(), guests.empty() ? -1 : 1000);
    auto isOver = [&](Guest &guest) {
      bool stays = guest.read(now());
      if (stays && guest.isWhole())
        admit(guest);
      return !stays || guest.isWhole();
    };
    guests.erase(std::remove_if(guests.begin(), guests.end(), isOver), guests.end());
    while (Socket socket = acceptOne(meeting_.listener)) {
      Guest guest{std::move(socket), {}, 0, now()};
      if (isOver(guest))
        continue;
      if (guests.size() == Guest::kMost)
        guests.erase(guests.begin());
      guests.push_back(std::move(guest));
    }
    if (hasNoDescriptors()) {
      crowded_ = guests.empty(); // else strangers hold them, and lose patience
      ::poll(nullptr, 0, 50);
    }
  }
}

} // namespace cleave::rt

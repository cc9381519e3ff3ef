#include "runtime/device/cuda/NcclMeeting.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace cleave::rt {

namespace {

constexpr int kPollMilliseconds = 100;
constexpr std::chrono::milliseconds kPause{100};      // between two tries
constexpr timeval kTurn{/*tv_sec=*/1, /*tv_usec=*/0}; // for the other side's next word, and to reach it
constexpr uint64_t kMagic = 0x64692d6c'63636e31;      // of this form of question and answer
constexpr char kAck = 'k';
constexpr int kMostNamed = 4;

enum class Verdict : int32_t { Accepted = 1, OtherSize, TakenRank };

struct Question {
  uint64_t magic;
  int32_t rank, size;
};
struct Answer {
  uint64_t magic;
  int32_t size;
  Verdict verdict;
  cuda::NcclId id;
};

class Socket {
public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {
    if (fd_ < 0)
      return;
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &kTurn, sizeof kTurn);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &kTurn, sizeof kTurn); // connect(), too
  }
  ~Socket() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  Socket(Socket &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  bool isOpen() const { return fd_ >= 0; }
  template <typename T> bool receive(T *value) const {
    return ::recv(fd_, value, sizeof *value, MSG_WAITALL) == static_cast<ssize_t>(sizeof *value);
  }
  template <typename T> bool send(const T &value) const {
    return ::send(fd_, &value, sizeof value, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof value);
  }

private:
  int fd_ = -1;
};

// A socket for the first of the address's meanings that `use` is successful with; else why there is none.
template <typename Use> std::string openSocket(const std::string &address, Use use, Socket *result) {
  size_t colon = address.rfind(':'); // Launcher.h: there is one
  std::string host = address.substr(0, colon), port = address.substr(colon + 1), why = "it means no address";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  addrinfo hints = {}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &list))
    return ::gai_strerror(error);
  for (const addrinfo *each = list; each && !result->isOpen(); each = each->ai_next) {
    Socket made(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (made.isOpen() && use(made.get(), *each))
      *result = std::move(made);
    else
      why = errno == EINPROGRESS || errno == EAGAIN ? "no answer" : std::strerror(errno);
  }
  ::freeaddrinfo(list);
  return result->isOpen() ? "" : why;
}

// A socket that looks for a port that nobody listens at may be given that very port, and is connected to itself then.
bool connectTo(int fd, const addrinfo &at) {
  sockaddr_storage mine = {}, theirs = {};
  socklen_t mineSize = sizeof mine, theirSize = sizeof theirs;
  if (::connect(fd, at.ai_addr, at.ai_addrlen) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr *>(&mine), &mineSize) != 0 ||
      ::getpeername(fd, reinterpret_cast<sockaddr *>(&theirs), &theirSize) != 0)
    return false;
  errno = ECONNREFUSED;
  return mineSize != theirSize || std::memcmp(&mine, &theirs, mineSize) != 0;
}

std::string processes(int size) { return std::to_string(size) + " processes"; }

} // namespace

// The first ranks that have not come, for messages.
std::string NcclMeeting::missing(const std::set<int> &told) const {
  std::string text;
  int named = 0, left = size_ - 1 - static_cast<int>(told.size());
  for (int rank = 1; rank < size_ && named < kMostNamed; ++rank)
    if (told.count(rank) == 0)
      text += (named++ ? ", " : "") + std::to_string(rank);
  return (left == 1 ? "rank " + text + " has" : "ranks " + text + (left > named ? ", ..." : "") + " have") +
         " not come yet";
}

// Of one that asks; closes its socket. An error ends the meeting; a rank that does not say that it has the id may ask
// again.
Status NcclMeeting::answer(int fd, const cuda::NcclId &id, std::set<int> *told) const {
  Socket socket(fd);
  Question question = {};
  if (!socket.receive(&question) || question.magic != kMagic)
    return Status::ok(); // no rank
  Answer answer = {kMagic, size_, Verdict::Accepted, id};
  if (question.size != size_ || question.rank < 1 || question.rank >= size_)
    answer.verdict = Verdict::OtherSize;
  else if (told->count(question.rank) != 0)
    answer.verdict = Verdict::TakenRank;
  char ack = 0;
  if (socket.send(answer) && answer.verdict == Verdict::Accepted && socket.receive(&ack) && ack == kAck)
    told->insert(question.rank);
  if (answer.verdict != Verdict::OtherSize)
    return Status::ok();
  return invalidArgument("rank " + std::to_string(question.rank) + " of " + processes(question.size) + " has come to " +
                         point_.address + " (" + point_.source + "); this one was started as rank 0 of " +
                         processes(size_) +
                         "; start all with one number, or give each run a port of its own by CLEAVE_COMM_PORT");
}

Status NcclMeeting::tell(const cuda::NcclId &id) {
  std::set<int> told;
  if (size_ == 1)
    return Status::ok();
  Socket listener;
  std::string why = openSocket(
      point_.address,
      [](int fd, const addrinfo &at) {
        int yes = 1;
        ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        return ::bind(fd, at.ai_addr, at.ai_addrlen) == 0 && ::listen(fd, SOMAXCONN) == 0;
      },
      &listener);
  if (!listener.isOpen())
    return ioError("rank 0 cannot listen at " + point_.address + " (" + point_.source +
                   "), where the ranks meet: " + why +
                   "; if another program has that port, CLEAVE_COMM_PORT gives all processes another one; the address "
                   "must be one of this machine");
  while (static_cast<int>(told.size()) < size_ - 1 && !isOver_()) {
    say_(missing(told));
    pollfd ready = {listener.get(), POLLIN, 0};
    if (::poll(&ready, 1, kPollMilliseconds) <= 0)
      continue;
    if (int fd = ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC); fd >= 0)
      CLEAVE_TRY(answer(fd, id, &told));
  }
  return Status::ok();
}

// `detail`: why there is no id yet.
Status NcclMeeting::askOnce(cuda::NcclId *id, bool *isDone, std::string *detail) const {
  Socket socket;
  std::string why = openSocket(point_.address, connectTo, &socket);
  *detail = "rank 0 does not listen there yet (" + why + ")";
  if (!socket.isOpen())
    return Status::ok();
  *detail = "a program listens there that does not answer as rank 0 does";
  Answer answer = {};
  if (!socket.send(Question{kMagic, rank_, size_}) || !socket.receive(&answer) || answer.magic != kMagic)
    return Status::ok();
  std::string me = "rank " + std::to_string(rank_), there = " at " + point_.address + " (" + point_.source + ")";
  if (answer.verdict == Verdict::OtherSize)
    return invalidArgument("rank 0" + there + " was started as one of " + processes(answer.size) +
                           ", and this one as " + me + " of " + processes(size_) +
                           "; start all with one number, or give each run a port of its own by CLEAVE_COMM_PORT");
  if (answer.verdict == Verdict::TakenRank)
    return invalidArgument("another process has come to rank 0" + there + " as " + me +
                           "; start each rank once, or give each run a port of its own by CLEAVE_COMM_PORT");
  *id = answer.id;
  *isDone = socket.send(kAck);
  *detail = "rank 0 has hung up";
  return Status::ok();
}

Status NcclMeeting::ask(cuda::NcclId *id) {
  std::string detail;
  for (bool isDone = false; !isOver_(); std::this_thread::sleep_for(kPause)) {
    CLEAVE_TRY(askOnce(id, &isDone, &detail));
    if (isDone)
      break;
    say_(detail);
  }
  return Status::ok();
}

} // namespace cleave::rt

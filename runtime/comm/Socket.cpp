#include "runtime/comm/Socket.h"

#include "runtime/base/Trace.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace cleave::rt {
namespace {

constexpr uint8_t kIPv4Prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

double now() { return static_cast<double>(TraceSink::now()) * 1e-9; }

// An address of the kernel's, of either family.
struct KernelAddress {
  sockaddr_storage storage = {};
  socklen_t length = sizeof(sockaddr_storage);

  sockaddr *any() { return reinterpret_cast<sockaddr *>(&storage); }
  const sockaddr *any() const { return reinterpret_cast<const sockaddr *>(&storage); }
};

KernelAddress toKernel(const NetAddress &address) {
  KernelAddress result;
  if (address.isIPv4()) {
    sockaddr_in v4 = {};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    std::memcpy(&v4.sin_addr, address.bytes + sizeof kIPv4Prefix, 4);
    std::memcpy(&result.storage, &v4, sizeof v4);
    result.length = sizeof v4;
  } else {
    sockaddr_in6 v6 = {};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    std::memcpy(&v6.sin6_addr, address.bytes, 16);
    std::memcpy(&result.storage, &v6, sizeof v6);
    result.length = sizeof v6;
  }
  return result;
}

NetAddress fromKernel(const KernelAddress &address) {
  NetAddress result;
  if (address.storage.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &address.storage, sizeof v4);
    std::memcpy(result.bytes, kIPv4Prefix, sizeof kIPv4Prefix);
    std::memcpy(result.bytes + sizeof kIPv4Prefix, &v4.sin_addr, 4);
    result.port = ntohs(v4.sin_port);
  } else if (address.storage.ss_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, &address.storage, sizeof v6);
    std::memcpy(result.bytes, &v6.sin6_addr, 16);
    result.port = ntohs(v6.sin6_port);
  }
  return result;
}

Status failure(const char *call) { return ioError(std::string(call) + ": " + std::strerror(errno)); }

Socket makeSocket(int family) { return Socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

void setOption(const Socket &socket, int level, int name, int value) {
  ::setsockopt(socket.descriptor(), level, name, &value, sizeof value);
}

Status bindAndListen(Socket socket, const NetAddress &address, Socket *result) {
  if (!socket)
    return failure("socket");
  setOption(socket, SOL_SOCKET, SO_REUSEADDR, 1); // connections that have just ended hold no port
  KernelAddress place = toKernel(address);
  if (::bind(socket.descriptor(), place.any(), place.length) != 0)
    return failure("bind");
  if (::listen(socket.descriptor(), SOMAXCONN) != 0)
    return failure("listen");
  *result = std::move(socket);
  return Status::ok();
}

bool wouldWait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

} // namespace

Socket &Socket::operator=(Socket &&other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

void Socket::close() {
  if (descriptor_ >= 0)
    ::close(std::exchange(descriptor_, -1));
}

bool NetAddress::isIPv4() const { return std::memcmp(bytes, kIPv4Prefix, sizeof kIPv4Prefix) == 0; }

bool NetAddress::isLoopback() const {
  constexpr uint8_t kOne[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return isIPv4() ? bytes[12] == 127 : std::memcmp(bytes, kOne, 16) == 0;
}

bool NetAddress::operator==(const NetAddress &other) const {
  return port == other.port && std::memcmp(bytes, other.bytes, sizeof bytes) == 0;
}

std::string NetAddress::text() const {
  char buffer[INET6_ADDRSTRLEN] = "";
  if (isIPv4())
    ::inet_ntop(AF_INET, bytes + sizeof kIPv4Prefix, buffer, sizeof buffer);
  else
    ::inet_ntop(AF_INET6, bytes, buffer, sizeof buffer);
  return buffer;
}

NetAddress localAddress(const Socket &socket) {
  KernelAddress address;
  return ::getsockname(socket.descriptor(), address.any(), &address.length) == 0 ? fromKernel(address) : NetAddress();
}

NetAddress peerAddress(const Socket &socket) {
  KernelAddress address;
  return ::getpeername(socket.descriptor(), address.any(), &address.length) == 0 ? fromKernel(address) : NetAddress();
}

Status resolve(const std::string &host, uint16_t port, std::vector<NetAddress> *result) {
  addrinfo wanted = {}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  if (int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found))
    return notFound("the machine '" + host + "' is not known here (" + ::gai_strerror(error) + ")");
  for (addrinfo *each = found; each; each = each->ai_next) {
    KernelAddress address;
    if (each->ai_addrlen > sizeof address.storage)
      continue;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    result->push_back(fromKernel(address));
  }
  ::freeaddrinfo(found);
  return Status::ok();
}

NetAddress listeningAddress(const std::string &host, uint16_t port) {
  NetAddress place; // all zero: every address, of both kinds
  place.port = port;
  if (host == "::1") {
    place.bytes[15] = 1;
  } else if (host == "localhost" || host.compare(0, 4, "127.") == 0) {
    std::memcpy(place.bytes, kIPv4Prefix, sizeof kIPv4Prefix);
    if (::inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host.c_str(), place.bytes + sizeof kIPv4Prefix) != 1)
      std::memset(place.bytes, 0, sizeof place.bytes);
  }
  return place;
}

Status listenAt(const NetAddress &place, Socket *result) {
  if (place.isIPv4())
    return bindAndListen(makeSocket(AF_INET), place, result);
  Socket both = makeSocket(AF_INET6);
  if (both) {
    setOption(both, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    Status status = bindAndListen(std::move(both), place, result);
    if (status.isOk() || errno != EADDRNOTAVAIL)
      return status;
  }
  NetAddress every; // of a machine without IPv6
  std::memcpy(every.bytes, kIPv4Prefix, sizeof kIPv4Prefix);
  every.port = place.port;
  return bindAndListen(makeSocket(AF_INET), every, result);
}

bool hasNoDescriptors() { return errno == EMFILE || errno == ENFILE; }

Status noDescriptors() {
  return ioError("this process may open no more connections to other ranks; raise its limit of open files (ulimit -n)");
}

Socket acceptOne(const Socket &listener) {
  Socket socket(::accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket)
    setOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  return socket;
}

Status connectTo(const NetAddress &address, double seconds, Socket *result) {
  Socket socket = makeSocket(address.isIPv4() ? AF_INET : AF_INET6);
  if (!socket)
    return failure("socket");
  KernelAddress place = toKernel(address);
  if (::connect(socket.descriptor(), place.any(), place.length) != 0) {
    if (errno != EINPROGRESS && errno != EINTR)
      return failure("connect");
    pollfd wait{socket.descriptor(), POLLOUT, 0};
    int error = 0;
    socklen_t length = sizeof error;
    if (::poll(&wait, 1, static_cast<int>(seconds * 1000)) <= 0)
      return ioError("connect: no answer");
    ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
    errno = error;
    if (error)
      return failure("connect");
  }
  // A port of those that the system gives to connections may be given to this very one, which then meets itself.
  if (localAddress(socket) == peerAddress(socket))
    return ioError("connect: nobody listens");
  setOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  *result = std::move(socket);
  return Status::ok();
}

Moved sendSome(const Socket &socket, Piece first, Piece second, size_t *done) {
  iovec pieces[2];
  msghdr message = {};
  message.msg_iov = pieces;
  size_t skipped = *done;
  for (const Piece &piece : {first, second}) {
    size_t gone = std::min(skipped, piece.bytes);
    skipped -= gone;
    if (gone < piece.bytes)
      pieces[message.msg_iovlen++] = {static_cast<std::byte *>(const_cast<void *>(piece.data)) + gone,
                                      piece.bytes - gone};
  }
  ssize_t sent = ::sendmsg(socket.descriptor(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0)
    return wouldWait() ? Moved::Nothing : Moved::Ended;
  *done += static_cast<size_t>(sent);
  return Moved::Some;
}

Moved receiveSome(const Socket &socket, void *data, size_t bytes, size_t *done) {
  ssize_t received = ::recv(socket.descriptor(), data, bytes, MSG_DONTWAIT);
  if (received < 0)
    return wouldWait() ? Moved::Nothing : Moved::Ended;
  *done += static_cast<size_t>(received);
  return received == 0 ? Moved::Ended : Moved::Some;
}

bool sendAll(const Socket &socket, const void *data, size_t bytes, double seconds) {
  size_t done = 0;
  for (double end = now() + seconds; done < bytes;) {
    Moved moved = sendSome(socket, {data, bytes}, {}, &done);
    if (moved == Moved::Ended || now() > end)
      return false;
    pollfd wait{socket.descriptor(), POLLOUT, 0};
    if (moved == Moved::Nothing)
      ::poll(&wait, 1, 50);
  }
  return true;
}

} // namespace cleave::rt

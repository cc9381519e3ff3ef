// TCP sockets: what of them this room needs, with deadlines. Descriptors do not block and are closed on exec().
#ifndef CLEAVE_RUNTIME_COMM_SOCKET_H
#define CLEAVE_RUNTIME_COMM_SOCKET_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cleave::rt {

class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket &&other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket &operator=(Socket &&other) noexcept;
  ~Socket() { close(); }

  explicit operator bool() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  void close();

private:
  int descriptor_ = -1;
};

// An address as it is sent to others: IPv4 in the form of IPv6 (::ffff:a.b.c.d), so there is one kind.
struct NetAddress {
  uint8_t bytes[16] = {};
  uint16_t port = 0; // of the host's order

  bool isLoopback() const;
  bool isIPv4() const;
  bool operator==(const NetAddress &other) const;
  std::string text() const; // without the port
};

// Of this socket's end here, or there.
NetAddress localAddress(const Socket &socket);
NetAddress peerAddress(const Socket &socket);

// All addresses of a machine's name.
Status resolve(const std::string &host, uint16_t port, std::vector<NetAddress> *result);
// Where rank 0 listens when it is `host` for all: at every address of its machine; or, where the name says "this
// machine", whatever machine that is, only there.
NetAddress listeningAddress(const std::string &host, uint16_t port);

// Port 0: any that is free.
Status listenAt(const NetAddress &place, Socket *result);
// Whether the last failure was this process's own: it may have no more descriptors.
bool hasNoDescriptors();
Status noDescriptors();

// One connection that waits; none: an empty socket.
Socket acceptOne(const Socket &listener);
Status connectTo(const NetAddress &address, double seconds, Socket *result);

// How far a transfer has come.
enum class Moved { Some, Nothing, Ended };
// As many bytes as fit, or are there; `*done` grows by them. What is sent may be in two pieces: `*done` counts from the
// first one, and pieces that are short go together.
struct Piece {
  const void *data = nullptr;
  size_t bytes = 0;
};
Moved sendSome(const Socket &socket, Piece first, Piece second, size_t *done);
Moved receiveSome(const Socket &socket, void *data, size_t bytes, size_t *done);

// Everything within `seconds`; false: the other side has ended, or takes nothing.
bool sendAll(const Socket &socket, const void *data, size_t bytes, double seconds);

} // namespace cleave::rt

#endif

// What processes say to each other over TCP: fixed sizes, so that nobody allocates what a stranger asks for. All machines
// of a run have the same byte order; another one shows as another magic.
//
//   joining     Hello (Join) ->   <- Answer, and if it is a welcome, one Member for each rank
//   a channel   Hello (Open) ->   <- the token   MessageHead, bytes, MessageHead, bytes, ...
#ifndef CLEAVE_RUNTIME_COMM_TCPWIRE_H
#define CLEAVE_RUNTIME_COMM_TCPWIRE_H

#include "runtime/comm/PeerMonitor.h"
#include "runtime/comm/Socket.h"

namespace cleave::rt {

constexpr uint64_t kTcpMagic = 0x3150435445564c43; // "CLVETCP1"
constexpr uint32_t kTcpVersion = 1;

enum class HelloKind : uint32_t { Join = 1, Open = 2 };

struct Hello {
  uint64_t magic = kTcpMagic;
  uint32_t version = kTcpVersion;
  HelloKind kind = HelloKind::Join;
  uint64_t key = 0; // Join: of the launch; Open: the token of the welcome
  int32_t rank = 0;
  uint32_t number = 0; // Join: of processes; Open: of the channel
  PeerIdentity identity;
  uint16_t port = 0; // where this process listens
  uint16_t padding[3] = {};
};

enum class Reply : uint32_t { Welcome = 1, OtherVersion, OtherRun, OtherSize, Duplicate, Busy, GivenUp };

struct Answer {
  uint64_t magic = kTcpMagic;
  Reply reply = Reply::Welcome;
  uint32_t number = 0; // of processes; OtherVersion: the version
  uint64_t token = 0;  // of this run: a number drawn by rank 0
  char reason[240] = {};
};

// Where a rank listens, and who it is.
struct Member {
  NetAddress address;
  uint16_t padding[3] = {};
  PeerIdentity identity;
};

struct MessageHead {
  uint32_t mark = kMark;
  uint32_t sequence = 0; // of the channel
  uint64_t bytes = 0;

  static constexpr uint32_t kMark = 0x4d564c43;
};

static_assert(sizeof(Hello) == 56 && sizeof(Answer) == 264 && sizeof(Member) == 40 && sizeof(MessageHead) == 16,
              "all compilers lay these out alike");

} // namespace cleave::rt

#endif

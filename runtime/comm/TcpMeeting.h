// How the processes of one run find each other over TCP: all join rank 0, which tells each where the others listen.
//
// Rank 0 waits until everybody is there, so whoever is welcomed may connect to any other at once. What comes to its port
// and is none of them (a scanner, another run, an older attempt) is turned away, and nobody waits for it; a process of
// this run that cannot be right (another number of processes, a rank twice) ends the meeting for all, with the reason.
// Nobody waits longer than CLEAVE_COMM_TIMEOUT_S.
//
// Rank 0 sees from where a process came, and the others reach it there. One that came over the loopback is on rank 0's
// machine: the others reach it where they have reached rank 0.
#ifndef CLEAVE_RUNTIME_COMM_TCPMEETING_H
#define CLEAVE_RUNTIME_COMM_TCPMEETING_H

#include "runtime/comm/Launcher.h"
#include "runtime/comm/TcpWire.h"

namespace cleave::rt {

struct TcpMeeting {
  uint64_t token = 0;
  std::vector<Member> members; // by rank
  Socket listener;             // of this process

  // Returns when all are there.
  static Status hold(const TcpPlace &place, double timeoutSeconds, TcpMeeting *result);
};

// A hello that is being read, of somebody who may be anybody.
struct Guest {
  Socket socket;
  Hello hello;
  size_t have = 0;
  double since = 0;

  bool isWhole() const { return have == sizeof hello; }
  // False when there is nothing to be expected from it any more.
  bool read(double now);

  static constexpr double kPatienceSeconds = 10;
  static constexpr size_t kMost = 256; // at a time that have not said who they are
};

} // namespace cleave::rt

#endif

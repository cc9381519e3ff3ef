// The connections of one process to the others: one for each rank, channel and direction, made when it is first needed.
//
// Who sends connects; a thread of this class accepts, reads who it is (TcpWire.h), and lays the connection down where the
// receiver looks for it. A connection belongs to the thread of its channel from then on. One way each was chosen since
// nobody has to agree on who connects, and a sender that is done may close: what it has sent still arrives.
#ifndef CLEAVE_RUNTIME_COMM_TCPLINKS_H
#define CLEAVE_RUNTIME_COMM_TCPLINKS_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/TcpMeeting.h"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

namespace cleave::rt {

// Messages that are on the way over one connection.
struct TcpLink {
  Socket socket;
  uint32_t sequence = 0;
};

// A connection counts when the other side has said so: one that was closed on the way (there were too many strangers, say)
// is made again, and nothing is lost in it.
class TcpLinks {
public:
  static constexpr unsigned kBeatChannel = kAllChannels;
  static constexpr unsigned kTcpChannels = kAllChannels + 1;

  TcpLinks(TcpMeeting meeting, int rank);
  ~TcpLinks();

  int size() const { return static_cast<int>(meeting_.members.size()); }
  const std::vector<Member> &members() const { return meeting_.members; }
  // The connection for what is sent to a rank; made by the first call. PeerLost: nobody is there.
  Status outgoing(int to, unsigned channel, TcpLink **link);
  // The connection that a rank has made; null: it has not, so far.
  TcpLink *incoming(int from, unsigned channel);
  // Not ok: others cannot connect, for a reason of this process.
  Status health() const;

private:
  using Key = std::pair<int, unsigned>;

  Status open(int to, unsigned channel, TcpLink &link) const;
  void accept();
  void admit(Guest &guest);

  TcpMeeting meeting_;
  int rank_;
  std::mutex mutex_; // of the maps; what they hold stays where it is
  std::map<Key, TcpLink> outgoing_, incoming_;
  std::atomic<bool> stopping_{false}, crowded_{false};
  int wake_;
  std::thread acceptor_;
};

} // namespace cleave::rt

#endif

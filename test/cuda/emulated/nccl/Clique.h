// The ranks of one communicator, and how their operations meet. Threads of one process meet in its memory
// (ThreadClique). Processes of one machine meet through files of a folder (ProcessClique.h).
//
// An operation of a rank runs on the rank's stream. It announces itself under the operation's key, and waits until all
// ranks of the clique have announced theirs. Then every rank computes its own result, and no rank leaves before all
// ranks have read. The key is the operation's number in the order of the calls (and, in a graph, the number of the
// replay), so that streams may run ahead.
//
// A rank that waits gives up when its own communicator is aborted, or after a limit. The limit is reported as a hang,
// with the ranks that are missing. If a rank aborts, the communicators of the others report a remote error, but their
// operations wait on: as with NCCL, the other ranks have to abort, too.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cleave::emulated::nccl {

enum Result : int {
  Success = 0,
  UnhandledCudaError = 1,
  SystemError = 2,
  InternalError = 3,
  InvalidArgument = 4,
  InvalidUsage = 5,
  RemoteError = 6,
  InProgress = 7
};
enum DataType : int {
  Int8 = 0,
  UInt8 = 1,
  Int32 = 2,
  UInt32 = 3,
  Int64 = 4,
  UInt64 = 5,
  F16 = 6,
  F32 = 7,
  F64 = 8,
  BF16 = 9
};
enum ReduceOp : int { Sum = 0, Prod = 1, Max = 2, Min = 3, Avg = 4 };
enum class Kind : int { AllReduce, Reduce, Broadcast, ReduceScatter, AllGather, Send, Recv };

const char *nameOf(Kind kind);
size_t bytesOf(int type);

// The announcement of a rank. All fields but the pointers must agree among the ranks.
struct Call {
  Kind kind = Kind::AllReduce;
  uint64_t count = 0; // elements of the rank's part, as in the API
  int type = F32, op = Sum, root = 0;
  uint64_t send = 0, recv = 0;    // device addresses
  const void *sendHost = nullptr; // the host's address of `send`, after the announcement
  uint64_t sendBytes = 0;         // number of bytes there
};

using Stop = std::atomic<bool>; // true: the rank's communicator was aborted

struct Key {
  uint64_t number, replay;
  bool operator<(const Key &o) const { return number != o.number ? number < o.number : replay < o.replay; }
};

class Clique {
public:
  explicit Clique(int size) : size(size) {}
  virtual ~Clique() = default;

  // Announces a collective. Returns the calls of all ranks in the order of the ranks, or an empty list and a reason.
  virtual std::vector<Call> meet(Key key, int rank, const Call &call, const Stop &stop, std::string &why) = 0;
  // Waits until all ranks have finished phase 1 (have computed) or phase 2 (have written).
  virtual bool finish(Key key, int rank, int phase, const Stop &stop) = 0;

  // Point to point: a send offers its bytes until the receiver has taken them.
  virtual void offer(int from, int to, const Call &call) = 0;
  virtual bool take(int from, int to, const Call &want, void *data, const Stop &stop, std::string &why) = 0;
  virtual bool waitTaken(int from, int to, const Stop &stop) = 0;

  virtual void abort(int rank) = 0; // wakes all waiting ranks; the others get a remote error
  virtual bool anyGone() = 0;
  virtual void leave(int) {} // the rank's last call

  // The clique of `members`, in this order.
  virtual std::shared_ptr<Clique> part(const std::string &id, const std::vector<int> &members) const = 0;

  const int size;
};

// Describes how the ranks disagree about a collective. Empty if they agree.
std::string disagreement(const std::vector<Call> &calls, int rank);

class ThreadClique : public Clique {
public:
  explicit ThreadClique(int size) : Clique(size), gone(size_t(size), false) {}
  std::vector<Call> meet(Key key, int rank, const Call &call, const Stop &stop, std::string &why) override;
  bool finish(Key key, int rank, int phase, const Stop &stop) override;
  void offer(int from, int to, const Call &call) override;
  bool take(int from, int to, const Call &want, void *data, const Stop &stop, std::string &why) override;
  bool waitTaken(int from, int to, const Stop &stop) override;
  void abort(int rank) override;
  bool anyGone() override;
  std::shared_ptr<Clique> part(const std::string &id, const std::vector<int> &members) const override;

private:
  struct Meeting {
    std::vector<Call> calls;
    std::vector<bool> here;
    int arrived = 0, done[3] = {0, 0, 0};
  };
  template <class Ready> bool wait(std::unique_lock<std::mutex> &lock, const Stop &stop, Ready ready);
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Key, Meeting> meetings;
  struct Offer {
    Call call;
    uint64_t number;
  };
  struct Channel {
    std::vector<Offer> offers;
    uint64_t offered = 0, taken = 0;
  };
  std::map<std::pair<int, int>, Channel> channels;
  std::vector<bool> gone;
};

// The clique of that id in this process. The first rank that asks makes it.
std::shared_ptr<Clique> threadClique(const std::string &id, int size);

// The time in seconds that a rank waits before it reports a hang: CLEAVE_EMULATED_NCCL_LIMIT_S, 60 by default.
int limitSeconds();

// The part of a collective's result that `rank` gets, from all ranks' calls.
std::vector<uint8_t> resultOf(const std::vector<Call> &calls, int rank);

} // namespace cleave::emulated::nccl

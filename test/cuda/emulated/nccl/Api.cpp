// The entry points of NCCL: communicators, groups, collectives, point to point, asynchronous errors, abort.
//
// Calls between ncclGroupStart and ncclGroupEnd are collected, and become one operation for each communicator and
// stream. All sends are offered first. So an exchange in a group cannot deadlock, and an exchange outside of a group
// can.
#include "test/cuda/emulated/driver/Control.h"
#include "test/cuda/emulated/nccl/Communicator.h"
#include "test/cuda/emulated/nccl/Root.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

using namespace cleave::emulated::nccl;

#define CLEAVE_EMULATED_API extern "C" __attribute__((visibility("default")))

struct UniqueId {
  char bytes[128];
};

extern "C" int cuStreamIsCapturing(void *stream, int *status);

namespace {

thread_local std::string lastError;
int refuse(int result, const std::string &why) {
  lastError = why;
  fprintf(stderr, "emulated NCCL: %s\n", why.c_str());
  return result;
}

// NCCL frees a communicator that is destroyed or aborted. Here it stays in memory, and a call with it ends the program.
void expectLiving(const Communicator *comm, const char *call) {
  if (!comm || comm->life == Life::Living)
    return;
  fprintf(stderr, "emulated NCCL: %s of a communicator that was %s: a use of freed memory\n", call,
          comm->life == Life::Aborted ? "aborted" : "destroyed");
  abort();
}

// CLEAVE_EMULATED_NCCL_PAUSE_MS: each call that enqueues an operation takes this long. The communicator must live
// during the call.
void pauseIn(const Communicator *comm, const char *call) {
  static const char *text = getenv("CLEAVE_EMULATED_NCCL_PAUSE_MS");
  if (!text)
    return;
  std::this_thread::sleep_for(std::chrono::milliseconds(atoi(text)));
  expectLiving(comm, call);
}

// CLEAVE_EMULATED_NCCL_STALL_CALL=R,N: the Nth call that the process makes as rank R of a communicator waits inside of
// NCCL, as a first call does until all ranks are connected. It returns false when the communicator is aborted.
bool connect(const Communicator *comm) {
  static const char *text = getenv("CLEAVE_EMULATED_NCCL_STALL_CALL");
  static std::atomic<int> calls{0};
  int rank = -1, number = 0;
  if (!text || sscanf(text, "%d,%d", &rank, &number) != 2 || comm->rank != rank || ++calls != number)
    return true;
  while (!comm->stop)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return false;
}

// One operation of a communicator on a stream: the calls of a group, or one call.
struct Work {
  Work(Communicator *comm, bool isCaptured) : comm(comm), isCaptured(isCaptured) { comm->work.begin(isCaptured); }
  ~Work() { comm->work.end(isCaptured); }
  Communicator *const comm;
  const bool isCaptured; // in a graph, which may run it several times
  std::vector<std::pair<uint64_t, Call>> calls; // with their numbers
  std::atomic<uint64_t> replay{0};
};

struct Pending {
  Communicator *comm;
  void *stream;
  Call call;
};
thread_local int groupDepth = 0;
thread_local std::vector<Pending> pending;
thread_local std::vector<Communicator *> joining;

void fail(const cleave_emulated_memory &memory, const std::string &why) {
  if (!why.empty())
    memory.fail(memory.self, 719, why.c_str());
}

uint64_t sendBytes(const Call &c, int ranks) {
  uint64_t bytes = c.count * bytesOf(c.type);
  return c.kind == Kind::ReduceScatter ? bytes * uint64_t(ranks) : bytes;
}

bool readSend(const cleave_emulated_memory &memory, const Communicator &comm, Call &c) {
  bool sends = c.kind != Kind::Recv && (c.kind != Kind::Broadcast || comm.rank == c.root);
  if (!sends)
    return true;
  c.sendBytes = sendBytes(c, comm.clique->size);
  c.sendHost = memory.read(memory.self, c.send, c.sendBytes);
  return c.sendHost || c.count == 0;
}

bool writeRecv(const cleave_emulated_memory &memory, uint64_t address, const std::vector<uint8_t> &data) {
  if (data.empty())
    return true;
  void *to = memory.write(memory.self, address, data.size());
  if (to)
    memcpy(to, data.data(), data.size());
  return to != nullptr;
}

void runCollective(Work &w, uint64_t number, uint64_t replay, Call c, const cleave_emulated_memory &memory) {
  Communicator &comm = *w.comm;
  std::string why;
  if (!readSend(memory, comm, c))
    return;
  Key key{number, replay};
  std::vector<Call> all = comm.clique->meet(key, comm.rank, c, comm.stop, why);
  if (all.empty())
    return fail(memory, why);
  std::vector<uint8_t> result = resultOf(all, comm.rank);
  if (!comm.clique->finish(key, comm.rank, 1, comm.stop))
    return; // no rank writes before all have read: the buffers may be the same
  // The root of a broadcast in place already has the value. It writes nothing, because others may still read the
  // buffer.
  if (c.kind != Kind::Broadcast || comm.rank != c.root || c.send != c.recv)
    writeRecv(memory, c.recv, result);
  comm.clique->finish(key, comm.rank, 2, comm.stop);
}

// CLEAVE_EMULATED_NCCL_STALL_SETUP=R,N: rank R never begins to make its Nth communicator. The first one is that of all
// ranks. An abort ends the wait if it is a later one.
void stallSetup(int rank, int number, const Stop *stop) {
  static const char *text = getenv("CLEAVE_EMULATED_NCCL_STALL_SETUP");
  int stalled = -1, at = 0;
  if (!text || sscanf(text, "%d,%d", &stalled, &at) != 2 || stalled != rank || at != number)
    return;
  while (!stop || !*stop)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// CLEAVE_EMULATED_NCCL_STALL=R,N: the Nth operation that the process enqueues as rank R of a communicator does not
// begin until the communicator is aborted. The other ranks see no sign of this rank.
void stall(const Communicator &comm) {
  static const char *text = getenv("CLEAVE_EMULATED_NCCL_STALL");
  static std::atomic<int> operations{0};
  int rank = -1, number = 0;
  if (!text || sscanf(text, "%d,%d", &rank, &number) != 2 || comm.rank != rank || ++operations != number)
    return;
  while (!comm.stop)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void run(Work &w, const cleave_emulated_memory &memory) {
  Communicator &comm = *w.comm;
  stall(comm);
  if (comm.stop)
    return;
  uint64_t replay = w.replay++;
  for (auto &[number, call] : w.calls)
    if (call.kind == Kind::Send) {
      Call c = call;
      if (!readSend(memory, comm, c))
        return;
      comm.clique->offer(comm.rank, c.root, c);
    }
  for (auto &[number, call] : w.calls)
    if (call.kind != Kind::Send && call.kind != Kind::Recv)
      runCollective(w, number, replay, call, memory);
  for (auto &[number, call] : w.calls)
    if (call.kind == Kind::Recv) {
      std::vector<uint8_t> data(call.count * bytesOf(call.type));
      std::string why;
      if (!comm.clique->take(call.root, comm.rank, call, data.data(), comm.stop, why))
        return fail(memory, why);
      writeRecv(memory, call.recv, data);
    }
  for (auto &[number, call] : w.calls)
    if (call.kind == Kind::Send)
      comm.clique->waitTaken(comm.rank, call.root, comm.stop);
}

int enqueue(Communicator *comm, void *stream, const std::vector<Call> &calls) {
  int capturing = 0;
  cuStreamIsCapturing(stream, &capturing);
  auto *w = new Work(comm, capturing != 0);
  for (const Call &c : calls)
    w->calls.push_back({c.kind == Kind::Send || c.kind == Kind::Recv ? 0 : comm->calls++, c});
  int error = cleave_emulated_enqueue(
      stream, calls.size() == 1 ? nameOf(calls[0].kind) : "a group of NCCL",
      [](void *data, const cleave_emulated_memory *memory) { run(*static_cast<Work *>(data), *memory); }, w,
      [](void *data) { delete static_cast<Work *>(data); });
  return error ? refuse(UnhandledCudaError, "the driver returned " + std::to_string(error)) : Success;
}

int call(Communicator *comm, void *stream, const Call &c) {
  if (!comm)
    return refuse(InvalidArgument, "no communicator");
  expectLiving(comm, nameOf(c.kind));
  pauseIn(comm, nameOf(c.kind));
  if (!connect(comm))
    return refuse(InternalError, "a call was interrupted");
  bool peer = c.kind == Kind::Send || c.kind == Kind::Recv || c.kind == Kind::Broadcast || c.kind == Kind::Reduce;
  if (!bytesOf(c.type) || c.op < 0 || c.op > Avg || (peer && (c.root < 0 || c.root >= comm->clique->size)))
    return refuse(InvalidArgument, std::string(nameOf(c.kind)) + ": this type, operation or peer does not exist");
  if (groupDepth) {
    pending.push_back({comm, stream, c});
    return Success;
  }
  return enqueue(comm, stream, {c});
}

// All communicators of a group are made together, because a thread may hold several ranks.
int finishJoins() {
  std::vector<Communicator *> list;
  list.swap(joining);
  for (Communicator *comm : list)
    comm->meeting->announce();
  for (Communicator *comm : list) {
    std::string why;
    comm->clique = comm->meeting->wait(comm->stop, why);
    if (!comm->clique)
      return refuse(comm->meeting->sharesDevice ? InvalidUsage : SystemError, why);
  }
  return Success;
}

} // namespace

CLEAVE_EMULATED_API int ncclGetVersion(int *version) {
  *version = 22809;
  return Success;
}

CLEAVE_EMULATED_API const char *ncclGetErrorString(int result) {
  static const char *texts[] = {"no error",
                                "unhandled cuda error",
                                "unhandled system error",
                                "internal error",
                                "invalid argument",
                                "invalid usage",
                                "remote process exited or there was a network error",
                                "NCCL operation in progress"};
  return result >= 0 && result < 8 ? texts[result] : "unknown result code";
}
CLEAVE_EMULATED_API const char *ncclGetLastError(Communicator *) { return lastError.c_str(); }

namespace {
void makeId(UniqueId *id) {
  static std::atomic<uint64_t> next{1};
  auto time = std::chrono::steady_clock::now().time_since_epoch().count();
  snprintf(id->bytes, sizeof id->bytes, "cleave-emulated-%d-%llu-%llx", int(getpid()), (unsigned long long)next++,
           (unsigned long long)time);
}

// Rank 0 listens at the address of the id, which NCCL_COMM_ID gave. The other ranks ask there.
int findId(UniqueId *id, int size, int rank) {
  std::string address = id->bytes, why, found;
  if (address.rfind(kAddressedId, 0) != 0)
    return Success;
  address = address.substr(strlen(kAddressedId));
  memset(id, 0, sizeof *id);
  if (rank == 0 && getenv("NCCL_COMM_ID")) { // the application asks for the id once more
    makeId(id);
    return tellOthers(address, id->bytes, size - 1, why) ? Success : refuse(SystemError, why);
  }
  if (!askRoot(address, rank, found, why))
    return refuse(RemoteError, why);
  found.copy(id->bytes, sizeof id->bytes - 1);
  return Success;
}
} // namespace

CLEAVE_EMULATED_API int ncclGetUniqueId(UniqueId *id) {
  memset(id, 0, sizeof *id);
  if (const char *address = getenv("NCCL_COMM_ID")) {
    if (!isAddress(address))
      return refuse(InvalidArgument, "Invalid NCCL_COMM_ID, please use format: <ipv4>:<port> or [<ipv6>]:<port> or "
                                     "<hostname>:<port>");
    snprintf(id->bytes, sizeof id->bytes, "%s%s", kAddressedId, address);
    return Success;
  }
  makeId(id);
  return Success;
}

CLEAVE_EMULATED_API int ncclCommInitRank(Communicator **result, int size, UniqueId id, int rank) {
  *result = nullptr;
  if (size < 1 || rank < 0 || rank >= size)
    return refuse(InvalidArgument, "rank " + std::to_string(rank) + " of " + std::to_string(size));
  if (!cleave_emulated_has_context())
    return refuse(UnhandledCudaError, "no current context");
  if (strncmp(id.bytes, "cleave-emulated-", 16) != 0)
    return refuse(InvalidArgument, "the unique id is not one of ncclGetUniqueId");
  stallSetup(rank, 1, nullptr);
  if (int result = findId(&id, size, rank))
    return result;
  auto *comm = new Communicator;
  comm->rank = rank;
  comm->id = id.bytes;
  comm->meeting = std::make_unique<Gathering>(comm->id, size, rank);
  Siblings::join(*comm);
  *result = comm;
  joining.push_back(comm);
  return groupDepth ? Success : finishJoins();
}

CLEAVE_EMULATED_API int ncclCommInitRankConfig(Communicator **result, int size, UniqueId id, int rank, void *) {
  return ncclCommInitRank(result, size, id, rank);
}

CLEAVE_EMULATED_API int ncclCommSplit(Communicator *comm, int color, int key, Communicator **result, void *) {
  // Every rank announces its color and key. The ranks of one color are ordered by key, and then by rank.
  *result = nullptr;
  if (!comm)
    return refuse(InvalidArgument, "no communicator");
  expectLiving(comm, "ncclCommSplit");
  int number = comm->splits++;
  stallSetup(comm->rank, number + 2, &comm->stop);
  Call mine;
  mine.send = uint64_t(uint32_t(color)) << 32 | uint32_t(key);
  std::string why;
  std::vector<Call> all = comm->clique->meet({~uint64_t(0), uint64_t(number)}, comm->rank, mine, comm->stop, why);
  if (all.empty() && color < 0) {
    fprintf(stderr, "emulated NCCL: a split without a color fails: NCCL writes through a null pointer\n");
    abort();
  }
  if (all.empty())
    return refuse(SystemError, why);
  if (color < 0) // NCCL_SPLIT_NOCOLOR
    return Success;
  std::vector<std::pair<int, int>> members; // key, rank
  for (int r = 0; r < comm->clique->size; r++)
    if (int(uint32_t(all[size_t(r)].send >> 32)) == color)
      members.push_back({int(uint32_t(all[size_t(r)].send)), r});
  std::sort(members.begin(), members.end());
  auto *made = new Communicator;
  made->id = comm->id + "-" + std::to_string(number) + "-" + std::to_string(color);
  for (size_t i = 0; i < members.size(); i++)
    if (members[i].second == comm->rank)
      made->rank = int(i);
  std::vector<int> ranks;
  for (const auto &[order, r] : members)
    ranks.push_back(r);
  made->clique = comm->clique->part(made->id, ranks);
  Siblings::join(*made, *comm, ranks);
  *result = made;
  return Success;
}

CLEAVE_EMULATED_API int ncclCommFinalize(Communicator *comm) {
  if (!comm)
    return Success;
  expectLiving(comm, "ncclCommFinalize");
  if (comm->isFinalized.exchange(true))
    return refuse(InvalidArgument, "ncclCommFinalize was called before");
  comm->work.wait("ncclCommFinalize", comm->rank);
  return Success;
}

CLEAVE_EMULATED_API int ncclCommDestroy(Communicator *comm) {
  if (!comm)
    return Success;
  expectLiving(comm, "ncclCommDestroy");
  comm->life = Life::Destroyed;
  reclaim(*comm, "ncclCommDestroy");
  return Success;
}

// The rank's operations stop at once.
CLEAVE_EMULATED_API int ncclCommAbort(Communicator *comm) {
  if (!comm)
    return Success;
  expectLiving(comm, "ncclCommAbort");
  comm->life = Life::Aborted;
  comm->stop = true;
  if (comm->clique) // null if it has failed to join
    comm->clique->abort(comm->rank);
  reclaim(*comm, "ncclCommAbort");
  return Success;
}

CLEAVE_EMULATED_API int ncclCommGetAsyncError(Communicator *comm, int *error) {
  expectLiving(comm, "ncclCommGetAsyncError");
  *error = comm->clique->anyGone() ? RemoteError : Success;
  return Success;
}
CLEAVE_EMULATED_API int ncclCommCount(const Communicator *comm, int *count) {
  *count = comm->clique->size;
  return Success;
}
CLEAVE_EMULATED_API int ncclCommUserRank(const Communicator *comm, int *rank) {
  *rank = comm->rank;
  return Success;
}

CLEAVE_EMULATED_API int ncclGroupStart() {
  groupDepth++;
  return Success;
}

CLEAVE_EMULATED_API int ncclGroupEnd() {
  if (!groupDepth)
    return refuse(InvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--groupDepth)
    return Success;
  if (int result = finishJoins())
    return result;
  std::vector<Pending> list;
  list.swap(pending);
  while (!list.empty()) { // in the order of the first calls of communicators and streams
    Communicator *comm = list.front().comm;
    void *stream = list.front().stream;
    std::vector<Call> calls;
    std::vector<Pending> rest;
    for (const Pending &p : list)
      if (p.comm == comm && p.stream == stream)
        calls.push_back(p.call);
      else
        rest.push_back(p);
    if (int result = enqueue(comm, stream, calls))
      return result;
    list = rest;
  }
  return Success;
}

namespace {
Call make(Kind kind, const void *send, void *recv, size_t count, int type, int op, int root) {
  Call c;
  c.kind = kind;
  c.count = count;
  c.type = type;
  c.op = op;
  c.root = root;
  c.send = reinterpret_cast<uint64_t>(send);
  c.recv = reinterpret_cast<uint64_t>(recv);
  return c;
}
} // namespace

CLEAVE_EMULATED_API int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, Communicator *comm,
                                      void *stream) {
  return call(comm, stream, make(Kind::AllReduce, send, recv, count, type, op, 0));
}
CLEAVE_EMULATED_API int ncclReduce(const void *send, void *recv, size_t count, int type, int op, int root,
                                   Communicator *comm, void *stream) {
  return call(comm, stream, make(Kind::Reduce, send, recv, count, type, op, root));
}
CLEAVE_EMULATED_API int ncclBroadcast(const void *send, void *recv, size_t count, int type, int root,
                                      Communicator *comm, void *stream) {
  return call(comm, stream, make(Kind::Broadcast, send, recv, count, type, Sum, root));
}
CLEAVE_EMULATED_API int ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op,
                                          Communicator *comm, void *stream) {
  return call(comm, stream, make(Kind::ReduceScatter, send, recv, count, type, op, 0));
}
CLEAVE_EMULATED_API int ncclAllGather(const void *send, void *recv, size_t count, int type, Communicator *comm,
                                      void *stream) {
  return call(comm, stream, make(Kind::AllGather, send, recv, count, type, Sum, 0));
}
CLEAVE_EMULATED_API int ncclSend(const void *send, size_t count, int type, int peer, Communicator *comm, void *stream) {
  return call(comm, stream, make(Kind::Send, send, nullptr, count, type, Sum, peer));
}
CLEAVE_EMULATED_API int ncclRecv(void *recv, size_t count, int type, int peer, Communicator *comm, void *stream) {
  return call(comm, stream, make(Kind::Recv, nullptr, recv, count, type, Sum, peer));
}

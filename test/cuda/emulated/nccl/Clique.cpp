#include "test/cuda/emulated/nccl/Clique.h"
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace cleave::emulated::nccl {

const char *nameOf(Kind kind) {
  static const char *names[] = {"ncclAllReduce", "ncclReduce", "ncclBroadcast", "ncclReduceScatter",
                                "ncclAllGather", "ncclSend",   "ncclRecv"};
  return names[int(kind)];
}

size_t bytesOf(int type) {
  static const size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type >= 0 && type < 10 ? bytes[type] : 0;
}

int limitSeconds() {
  const char *text = getenv("CLEAVE_EMULATED_NCCL_LIMIT_S");
  return text ? atoi(text) : 60;
}

std::string disagreement(const std::vector<Call> &calls, int rank) {
  const Call &call = calls[size_t(rank)];
  for (size_t r = 0; r < calls.size(); r++) {
    const Call &other = calls[r];
    if (other.kind != call.kind || other.count != call.count || other.type != call.type || other.op != call.op ||
        other.root != call.root)
      return std::string("ranks ") + std::to_string(rank) + " and " + std::to_string(r) +
             " disagree: " + nameOf(call.kind) + " of " + std::to_string(call.count) + " elements of type " +
             std::to_string(call.type) + " and " + nameOf(other.kind) + " of " + std::to_string(other.count) +
             " of type " + std::to_string(other.type);
  }
  return "";
}

// The pointers are weak, so a clique is destroyed with its last rank.
std::shared_ptr<Clique> threadClique(const std::string &id, int size) {
  static std::mutex mutex;
  static auto *all = new std::map<std::string, std::weak_ptr<Clique>>;
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Clique> clique = (*all)[id].lock();
  if (!clique)
    (*all)[id] = clique = std::make_shared<ThreadClique>(size);
  return clique;
}

std::shared_ptr<Clique> ThreadClique::part(const std::string &id, const std::vector<int> &members) const {
  return threadClique(id, int(members.size()));
}

template <class Ready> bool ThreadClique::wait(std::unique_lock<std::mutex> &lock, const Stop &stop, Ready ready) {
  return changed.wait_for(lock, std::chrono::seconds(limitSeconds()), [&] { return stop || ready(); }) && !stop;
}

std::vector<Call> ThreadClique::meet(Key key, int rank, const Call &call, const Stop &stop, std::string &why) {
  std::unique_lock<std::mutex> lock(mutex);
  Meeting &m = meetings[key];
  m.calls.resize(size_t(size));
  m.here.resize(size_t(size));
  m.calls[size_t(rank)] = call;
  m.here[size_t(rank)] = true;
  m.arrived++;
  changed.notify_all();
  if (!wait(lock, stop, [&] { return m.arrived == size; })) {
    why = stop ? "" : std::string(nameOf(call.kind)) + " of rank " + std::to_string(rank) + " hangs: missing ranks";
    for (int r = 0; !stop && r < size; r++)
      if (!m.here[size_t(r)])
        why += " " + std::to_string(r);
    return {};
  }
  why = disagreement(m.calls, rank);
  if (!why.empty())
    return {};
  return m.calls;
}

bool ThreadClique::finish(Key key, int, int phase, const Stop &stop) {
  std::unique_lock<std::mutex> lock(mutex);
  Meeting &m = meetings[key];
  m.done[phase]++;
  changed.notify_all();
  bool all = wait(lock, stop, [&] { return m.done[phase] == size; });
  if (all && phase == 2 && m.done[0]++ == size - 1)
    meetings.erase(key); // by the last rank that leaves
  return all;
}

void ThreadClique::offer(int from, int to, const Call &call) {
  std::lock_guard<std::mutex> lock(mutex);
  Channel &c = channels[{from, to}];
  c.offers.push_back({call, c.offered++});
  changed.notify_all();
}

bool ThreadClique::take(int from, int to, const Call &want, void *data, const Stop &stop, std::string &why) {
  std::unique_lock<std::mutex> lock(mutex);
  Channel &c = channels[{from, to}];
  if (!wait(lock, stop, [&] { return !c.offers.empty(); })) {
    if (!stop)
      why = "ncclRecv of rank " + std::to_string(to) + " hangs: rank " + std::to_string(from) + " sends nothing";
    return false;
  }
  const Call sent = c.offers.front().call;
  if (sent.count * bytesOf(sent.type) != want.count * bytesOf(want.type)) {
    why = "ncclSend of rank " + std::to_string(from) + " has " + std::to_string(sent.count) +
          " elements, ncclRecv of rank " + std::to_string(to) + " wants " + std::to_string(want.count);
    return false;
  }
  memcpy(data, sent.sendHost, sent.count * bytesOf(sent.type));
  c.offers.erase(c.offers.begin());
  c.taken++;
  changed.notify_all();
  return true;
}

bool ThreadClique::waitTaken(int from, int to, const Stop &stop) {
  std::unique_lock<std::mutex> lock(mutex);
  Channel &c = channels[{from, to}];
  uint64_t mine = c.offered;
  return wait(lock, stop, [&] { return c.taken >= mine; });
}

void ThreadClique::abort(int rank) {
  std::lock_guard<std::mutex> lock(mutex);
  gone[size_t(rank)] = true;
  changed.notify_all();
}

bool ThreadClique::anyGone() {
  std::lock_guard<std::mutex> lock(mutex);
  for (bool g : gone)
    if (g)
      return true;
  return false;
}

} // namespace cleave::emulated::nccl

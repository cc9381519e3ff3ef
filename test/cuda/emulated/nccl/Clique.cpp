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

template <class Ready> bool Clique::wait(std::unique_lock<std::mutex> &lock, const Stop &stop, Ready ready) {
  return changed.wait_for(lock, std::chrono::seconds(limitSeconds()), [&] { return stop || ready(); }) && !stop;
}

void Clique::announce() {
  std::lock_guard<std::mutex> lock(mutex);
  joined++;
  changed.notify_all();
}

bool Clique::waitForAll(const Stop &stop) {
  std::unique_lock<std::mutex> lock(mutex);
  return wait(lock, stop, [&] { return joined >= size; });
}

std::vector<Call> Clique::meet(Key key, int rank, const Call &call, const Stop &stop, std::string &why) {
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
  for (int r = 0; r < size; r++) {
    const Call &other = m.calls[size_t(r)];
    if (other.kind != call.kind || other.count != call.count || other.type != call.type || other.op != call.op ||
        other.root != call.root) {
      why = std::string("ranks ") + std::to_string(rank) + " and " + std::to_string(r) +
            " disagree: " + nameOf(call.kind) + " of " + std::to_string(call.count) + " elements of type " +
            std::to_string(call.type) + " and " + nameOf(other.kind) + " of " + std::to_string(other.count) +
            " of type " + std::to_string(other.type);
      return {};
    }
  }
  return m.calls;
}

bool Clique::finish(Key key, int phase, const Stop &stop) {
  std::unique_lock<std::mutex> lock(mutex);
  Meeting &m = meetings[key];
  m.done[phase]++;
  changed.notify_all();
  bool all = wait(lock, stop, [&] { return m.done[phase] == size; });
  if (all && phase == 2 && m.done[0]++ == size - 1)
    meetings.erase(key); // the last one to leave
  return all;
}

void Clique::offer(int from, int to, const Call &call) {
  std::lock_guard<std::mutex> lock(mutex);
  Channel &c = channels[{from, to}];
  c.offers.push_back({call, c.offered++});
  changed.notify_all();
}

bool Clique::take(int from, int to, const Call &want, void *data, const Stop &stop, std::string &why) {
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

bool Clique::waitTaken(int from, int to, const Stop &stop) {
  std::unique_lock<std::mutex> lock(mutex);
  Channel &c = channels[{from, to}];
  uint64_t mine = c.offered;
  return wait(lock, stop, [&] { return c.taken >= mine; });
}

void Clique::abort(int rank) {
  std::lock_guard<std::mutex> lock(mutex);
  gone[size_t(rank)] = true;
  changed.notify_all();
}

bool Clique::anyGone() {
  std::lock_guard<std::mutex> lock(mutex);
  for (bool g : gone)
    if (g)
      return true;
  return false;
}

} // namespace cleave::emulated::nccl

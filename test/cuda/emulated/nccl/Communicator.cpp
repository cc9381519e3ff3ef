#include "test/cuda/emulated/nccl/Communicator.h"
#include <algorithm>
#include <chrono>
#include <cstdio>

namespace cleave::emulated::nccl {

constexpr std::chrono::seconds kPatience{10};

void OpenWork::begin(bool isCaptured) {
  std::lock_guard<std::mutex> lock(mutex);
  (isCaptured ? captured : underWay)++;
}

void OpenWork::end(bool isCaptured) {
  std::lock_guard<std::mutex> lock(mutex);
  (isCaptured ? captured : underWay)--;
  changed.notify_all();
}

void OpenWork::wait(const char *call, int rank) {
  std::unique_lock<std::mutex> lock(mutex);
  auto isOver = [this] { return captured == 0 && underWay == 0; };
  if (changed.wait_for(lock, kPatience, isOver))
    return;
  fprintf(stderr,
          "emulated NCCL: %s waits for rank %d: %d operations are in graphs that are not destroyed, %d under way\n",
          call, rank, captured, underWay);
  changed.wait(lock, isOver);
}

// The pointers are weak, so the object is destroyed with its last communicator.
std::shared_ptr<Siblings> Siblings::of(const std::string &id) {
  static std::mutex mutex;
  static auto *all = new std::map<std::string, std::weak_ptr<Siblings>>;
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Siblings> siblings = (*all)[id].lock();
  if (!siblings)
    (*all)[id] = siblings = std::make_shared<Siblings>();
  return siblings;
}

void Siblings::join(Communicator &comm) {
  comm.siblings = of(comm.id);
  std::lock_guard<std::mutex> lock(comm.siblings->mutex);
  comm.siblings->members.push_back(&comm);
  comm.siblings->expected++;
}

void Siblings::join(Communicator &comm, Communicator &parent, const std::vector<int> &ranksOfParent) {
  size_t count = parent.siblings->countOf(ranksOfParent);
  comm.siblings = of(comm.id);
  std::lock_guard<std::mutex> lock(comm.siblings->mutex);
  comm.siblings->members.push_back(&comm);
  comm.siblings->expected = count;
}

size_t Siblings::countOf(const std::vector<int> &ranks) {
  std::lock_guard<std::mutex> lock(mutex);
  return size_t(std::count_if(members.begin(), members.end(), [&](const Communicator *member) {
    return std::find(ranks.begin(), ranks.end(), member->rank) != ranks.end();
  }));
}

std::vector<Communicator *> Siblings::leave() {
  std::lock_guard<std::mutex> lock(mutex);
  return ++left == expected ? members : std::vector<Communicator *>();
}

void reclaim(Communicator &comm, const char *call) {
  std::vector<Communicator *> all = comm.siblings->leave();
  for (Communicator *each : all)
    if (!each->isFinalized)
      each->work.wait(call, each->rank);
  for (Communicator *each : all)
    if (each->life == Life::Destroyed)
      each->clique->leave(each->rank);
}

} // namespace cleave::emulated::nccl

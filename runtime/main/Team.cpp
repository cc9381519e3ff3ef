// The OpenMP of emitted executables: what loops of ours and of oneDNN ask libgomp for, with another way of waiting.
//
// GCC turns `#pragma omp parallel [for]` into a call of GOMP_parallel(body, data, threads), and body asks for its number
// (omp_get_thread_num()). libgomp gives each number a thread and then waits, for milliseconds without sleeping, for all
// of them. With other work on the machine that is ruinous: the waiting thread takes the core of the one it waits for,
// and 2 threads took up to 25 times as long as one. libgomp reads its environment (GOMP_SPINCOUNT) before any code of
// ours runs, so that it cannot be told.
//
// Here numbers are claimed. The calling thread takes the next one until none is left, and so do the team's threads,
// whenever they come: one that has no core holds up nobody, and at worst the caller does all by itself. Who waits
// spins for kSpinNs, about what waking a thread costs, and then sleeps on a futex.
//
//   caller   | body(0)  body(2) | body(3) ... wait |      claims 0, 2, 3 of four
//   thread 1        | body(1)                  |          wakes late, claims 1
//
// A body may wait for all others (GOMP_barrier, oneDNN's own barriers): a number that waits holds its thread, and a
// team of n has n threads, so that the other numbers are always claimed by somebody.
//
// The symbols of an executable come before those of the libraries it loads, so that oneDNN calls these too. They are in
// the archive of main() alone: a program that embeds the C API has an OpenMP of its own, which stays as it is (there
// GOMP_SPINCOUNT=5000 does most of this). Only what GCC makes of parallel regions with static loops is here;
// test/project checks that the runtime and oneDNN ask for nothing else. Rejected: to start the program again with
// GOMP_SPINCOUNT set: it is a second start, and threads that sleep still wait for those without a core: 2 threads
// took 1.1 to 2 times as long as one.
#include "runtime/base/Clock.h"
#include "runtime/base/Gate.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <sched.h>
#include <system_error>
#include <thread>
#include <vector>

namespace cleave::rt {
namespace {

constexpr int64_t kSpinNs = 30000;

// Spins, then sleeps, until the gate has reached `target`.
void await(Gate &gate, uint32_t target) {
  auto reached = [&] { return static_cast<int32_t>(gate.value() - target) >= 0; };
  for (int64_t end = 0; !reached();) {
    for (int i = 0; i < 64 && !reached(); ++i)
      Gate::pause();
    int64_t time = nanosecondsNow();
    end = end ? end : time + kSpinNs;
    if (time > end)
      break;
  }
  while (!gate.waitFor(target, [] { return false; })) {
  }
}

// What a thread is in the region that it works for.
class Team;
struct TeamMember {
  Team *team = nullptr; // null: outside of regions, or in one of one thread
  unsigned index = 0, count = 1;
  bool inside = false;
};
thread_local TeamMember member;

using Body = void (*)(void *);

void call(Body body, void *data, TeamMember there) {
  std::swap(member, there);
  body(data);
  member = there;
}

// Of one calling thread. A region is work of `count` numbers; `claims` holds its serial number, count and next number
// in one word, so that a thread that comes late claims nothing of a region that is over.
class Team {
public:
  ~Team() {
    stopping_ = true;
    begun_.open(begun_.value() + 1);
    for (std::thread &thread : threads_)
      thread.join();
  }

  // Makes threads for regions of `count`; the number there can be.
  unsigned grow(unsigned count) {
    try {
      while (threads_.size() + 1 < count)
        threads_.emplace_back([this, seen = begun_.value()] { serve(seen); });
    } catch (const std::system_error &) { // a limit of the system
    }
    return static_cast<unsigned>(threads_.size()) + 1;
  }

  void run(Body body, void *data, unsigned count) {
    body_ = body;
    data_ = data;
    left_.store(count, std::memory_order_relaxed);
    arrived_.store(0, std::memory_order_relaxed);
    uint32_t serial = begun_.value() + 1;
    claims_.store(uint64_t{serial} << 32 | uint64_t{count} << 16, std::memory_order_release);
    begun_.open(serial);
    work(serial);
    await(finished_, serial);
  }

  void barrier(unsigned count) {
    uint32_t next = passed_.value() + 1;
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
      arrived_.store(0, std::memory_order_relaxed);
      passed_.open(next);
    }
    await(passed_, next);
  }

private:
  void serve(uint32_t seen) {
    for (;;) {
      await(begun_, ++seen);
      if (stopping_)
        return;
      seen = begun_.value(); // those that were missed are over
      work(seen);
    }
  }

  // Claims numbers of a region until there are none.
  void work(uint32_t serial) {
    uint64_t claim = claims_.load(std::memory_order_acquire);
    for (;;) {
      unsigned count = claim >> 16 & 0xffff, index = claim & 0xffff;
      if (claim >> 32 != serial || index == count)
        return;
      if (!claims_.compare_exchange_weak(claim, claim + 1, std::memory_order_acq_rel, std::memory_order_acquire))
        continue;
      // Claimed: the region, and with it body_ and data_, stay until left_ is 0.
      call(body_, data_, {this, index, count, true});
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1)
        finished_.open(serial);
      claim = claims_.load(std::memory_order_acquire);
    }
  }

  std::vector<std::thread> threads_;
  std::atomic<bool> stopping_{false};
  Body body_ = nullptr;
  void *data_ = nullptr;
  Gate begun_, finished_; // by the region's serial number
  Gate passed_;           // barriers
  std::atomic<uint64_t> claims_{0};
  std::atomic<unsigned> left_{0}, arrived_{0};
};

constexpr unsigned kMostThreads = 4096; // fits the 16 bits of a claim

// OMP_NUM_THREADS and the like; 0 where it is not a number.
unsigned numberIn(const char *variable) {
  const char *text = std::getenv(variable);
  return text ? static_cast<unsigned>(std::min<unsigned long>(std::strtoul(text, nullptr, 10), kMostThreads)) : 0;
}

unsigned cores() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set))
                                                       : std::max(1u, std::thread::hardware_concurrency());
}

unsigned defaultThreads() {
  static const unsigned count = numberIn("OMP_NUM_THREADS") ? numberIn("OMP_NUM_THREADS") : cores();
  return count;
}

unsigned limit() {
  static const unsigned most = numberIn("OMP_THREAD_LIMIT") ? numberIn("OMP_THREAD_LIMIT") : kMostThreads;
  return most;
}

thread_local unsigned wanted = 0; // omp_set_num_threads(); 0: the default
thread_local std::unique_ptr<Team> ownTeam;

void parallel(Body body, void *data, unsigned threads) {
  unsigned count = std::min(threads ? threads : static_cast<unsigned>(wanted ? wanted : defaultThreads()), limit());
  if (count > 1 && !member.inside) {
    if (!ownTeam)
      ownTeam = std::make_unique<Team>();
    count = std::min(count, ownTeam->grow(count));
    if (count > 1)
      return ownTeam->run(body, data, count);
  }
  call(body, data, {nullptr, 0, 1, member.inside});
}

} // namespace

// Referred to by main(), so that this file is linked.
void useOwnTeam() {}

} // namespace cleave::rt

using namespace cleave::rt;

extern "C" {

void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned) { parallel(body, data, threads); }

void GOMP_barrier() {
  if (member.team)
    member.team->barrier(member.count);
}

int omp_get_thread_num() { return static_cast<int>(member.index); }
int omp_get_num_threads() { return static_cast<int>(member.count); }
int omp_in_parallel() { return member.team != nullptr; }
int omp_get_max_threads() { return static_cast<int>(std::min(wanted ? wanted : defaultThreads(), limit())); }
void omp_set_num_threads(int count) { wanted = count > 0 ? std::min(static_cast<unsigned>(count), kMostThreads) : 1; }
// Teams never become smaller by themselves.
int omp_get_dynamic() { return 0; }
void omp_set_dynamic(int) {}
}

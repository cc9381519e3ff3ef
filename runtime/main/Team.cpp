// The OpenMP of emitted executables. It implements the part of libgomp that Cleave's loops and oneDNN use, but waits in
// another way.
//
// GCC turns `#pragma omp parallel [for]` into a call of GOMP_parallel(body, data, threads). The body asks for its
// number (omp_get_thread_num()). libgomp gives each number to a thread. Then it waits for all of them, for milliseconds
// without sleeping. With other work on the machine this is very slow, because the waiting thread takes the core of the
// thread that it waits for: 2 threads took up to 25 times as long as one. libgomp reads its environment
// (GOMP_SPINCOUNT) before any code of Cleave runs, so Cleave cannot change this.
//
// Here threads claim numbers. The calling thread claims the next number until none is left. So do the threads of the
// team, whenever they wake. A thread without a core delays nobody, and in the worst case the caller does everything. A
// waiting thread spins for kSpinNs, which is about the cost of waking a thread, and then sleeps on a futex.
//
//   caller   | body(0)  body(2) | body(3) ... wait |      claims 0, 2, 3 of four
//   thread 1        | body(1)                  |          wakes late, claims 1
//
// A body may wait for all others (GOMP_barrier, oneDNN's own barriers). Then its number keeps its thread. A team of n
// has n threads, so some thread always claims the other numbers.
//
// The symbols of an executable precede those of the libraries that it loads, so oneDNN calls these functions too. They
// are only in the archive of main(): a program that embeds the C API keeps its own OpenMP (there GOMP_SPINCOUNT=5000
// has most of this effect). Only the functions that GCC needs for parallel regions with static loops are here.
// test/project checks that the runtime and oneDNN use no others. Rejected: starting the program again with
// GOMP_SPINCOUNT set. It is a second start, and threads that sleep still wait for those without a core: 2 threads took
// 1.1 to 2 times as long as one.
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

// The place of a thread in the region that it works for.
class Team;
struct TeamMember {
  Team *team = nullptr; // null: outside of regions, or in a region of one thread
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

// The team of one calling thread. A region has `count` numbers to claim. `claims_` has the serial number of the region,
// its count and the next number in one word, so a thread that wakes late claims nothing of a region that is over.
class Team {
public:
  ~Team() {
    stopping_ = true;
    begun_.open(begun_.value() + 1);
    for (std::thread &thread : threads_)
      thread.join();
  }

  // Makes threads for regions of `count` numbers. Returns how many numbers the team can serve.
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
      seen = begun_.value(); // regions that this thread has missed are over
      work(seen);
    }
  }

  // Claims numbers of a region until none is left.
  void work(uint32_t serial) {
    uint64_t claim = claims_.load(std::memory_order_acquire);
    for (;;) {
      unsigned count = claim >> 16 & 0xffff, index = claim & 0xffff;
      if (claim >> 32 != serial || index == count)
        return;
      if (!claims_.compare_exchange_weak(claim, claim + 1, std::memory_order_acq_rel, std::memory_order_acquire))
        continue;
      // While a claimed number is not done, left_ is not 0, so the region, body_ and data_ still exist.
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
  Gate passed_;           // counts barriers
  std::atomic<uint64_t> claims_{0};
  std::atomic<unsigned> left_{0}, arrived_{0};
};

constexpr unsigned kMostThreads = 4096; // fits the 16 bits of a claim

// Reads OMP_NUM_THREADS and similar variables. Returns 0 if the value is not a number.
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

// main() calls it, so that this file is linked.
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

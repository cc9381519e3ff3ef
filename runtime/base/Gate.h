// A counter that only grows, and that another thread can wait for: events, joins, rendezvous.
//
//   gate.open(7);                       // publishes everything written before
//   gate.waitFor(7, [&] { return failed.load(); });
//
// Most waits are short, so waiting spins for about a microsecond. Then it sleeps on a futex: there are often more ranks
// and progress threads than cores, and a spinning thread would take the core of the thread that it waits for. A
// condition variable was rejected, because each event would need a mutex, and each record would lock it.
#ifndef CLEAVE_RUNTIME_BASE_GATE_H
#define CLEAVE_RUNTIME_BASE_GATE_H

#include <atomic>
#include <cstdint>

namespace cleave::rt {

class Gate {
public:
  uint32_t value() const { return value_.load(std::memory_order_acquire); }

  // Raises the counter and wakes all threads that wait. A counter that is higher already stays so.
  void open(uint32_t value) {
    uint32_t before = value_.load(std::memory_order_relaxed);
    while (static_cast<int32_t>(value - before) > 0 &&
           !value_.compare_exchange_weak(before, value, std::memory_order_seq_cst)) {
    }
    if (sleepers_.load(std::memory_order_seq_cst) != 0)
      wake();
  }

  // Returns true once the counter has reached `target`, and false as soon as `giveUp()` returns true. `giveUp` is
  // called at least twenty times a second. The counter may wrap, because only its distance to `target` is tested.
  template <typename GiveUp> bool waitFor(uint32_t target, GiveUp giveUp) {
    for (int i = 0; i < kSpins; ++i) {
      if (reached(target))
        return true;
      pause();
    }
    while (!reached(target)) {
      if (giveUp())
        return false;
      sleepUnless(target);
    }
    return true;
  }

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

private:
  static constexpr int kSpins = 64;

  bool reached(uint32_t target) const { return static_cast<int32_t>(value() - target) >= 0; }
  void sleepUnless(uint32_t target); // at most 50 ms
  void wake();

  std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> sleepers_{0};
};

} // namespace cleave::rt

#endif

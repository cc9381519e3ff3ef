#include "runtime/base/Gate.h"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cleave::rt {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "a futex is a plain 32-bit word");

void Gate::sleepUnless(uint32_t target) {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  // Reads the value again after the sleeper was counted. Either open() sees the sleeper, or this thread sees the new
  // value.
  uint32_t seen = value_.load(std::memory_order_seq_cst);
  if (static_cast<int32_t>(seen - target) < 0) {
    timespec limit{0, 50'000'000};
    ::syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, seen, &limit, nullptr, 0);
  }
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

void Gate::wake() { ::syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0); }

} // namespace cleave::rt

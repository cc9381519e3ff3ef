#include "runtime/base/ShortTurns.h"

#include <cstdint>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cleave::rt {

namespace {
// The first version of the kernel's struct sched_attr. Older C libraries do not declare it.
struct Attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period; // nanoseconds
};
} // namespace

void takeShortTurns() {
#if defined(SYS_sched_getattr) && defined(SYS_sched_setattr)
  constexpr uint64_t kTurn = 100'000; // the shortest that the kernel allows, in nanoseconds
  Attributes attributes{};
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 || attributes.policy != SCHED_OTHER)
    return;
  attributes.size = sizeof attributes;
  attributes.runtime = kTurn;
  ::syscall(SYS_sched_setattr, 0, &attributes, 0); // if it is refused, nothing changes
#endif
}

} // namespace cleave::rt

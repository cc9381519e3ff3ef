#include "runtime/base/Termination.h"

#include <csignal>

namespace cleave::rt {

static volatile std::sig_atomic_t noted = 0;

void noteTermination() {
  std::signal(SIGTERM, [](int) { noted = 1; });
}

bool terminationNoted() { return noted != 0; }

} // namespace cleave::rt

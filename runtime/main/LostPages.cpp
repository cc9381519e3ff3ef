#include "runtime/main/LostPages.h"

#include <csignal>
#include <unistd.h>

namespace cleave::rt {

static std::string line; // set before the handler is installed

// Calls only functions that a signal handler may call.
static void handle(int signal, siginfo_t *info, void *) {
  if (info->si_code != BUS_ADRERR) {
    std::signal(signal, SIG_DFL); // a defect: when the instruction is repeated, the signal ends the process
    return;
  }
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
  ::_exit(1);
}

void explainLostPages(const std::string &program) {
  line = "\n" + program +
         ": error: a mapped file (data, weights or a checkpoint) was truncated while in use, or can no longer be read "
         "(SIGBUS); under mpirun, /dev/shm may be full\n";
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

} // namespace cleave::rt

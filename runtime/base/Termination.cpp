#include "runtime/base/Termination.h"

#include <csignal>
#include <initializer_list>
#include <cstring>
#include <unistd.h>

namespace cleave::rt {

static volatile std::sig_atomic_t noted = 0; // the signal
static volatile std::sig_atomic_t isLaunched = 0;
static const char *volatile signalHint = nullptr;
static const char *volatile pipeHint = nullptr;
static bool inOrder = false;

// Calls only functions that a signal handler may call.
static void handle(int signal) {
  // A terminal that closes sends SIGHUP twice (by its shell and by the kernel). Launchers repeat SIGTERM.
  bool isFirst = noted == 0, ends = signal == SIGINT || (signal == SIGTERM && !isLaunched);
  if (!isFirst && ends) {
    std::signal(signal, SIG_DFL);
    std::raise(signal); // delivered when this handler returns
    return;
  }
  noted = signal;
  const char *hint = signal == SIGPIPE ? pipeHint : signalHint;
  if (isFirst && hint)
    static_cast<void>(!::write(STDERR_FILENO, hint, std::strlen(hint)));
}

void noteTermination() {
  isLaunched = 1;
  std::signal(SIGTERM, handle);
}

bool terminationNoted() { return noted != 0; }

void endInOrder(const EndHints &hints, bool launched) {
  signalHint = hints.signal;
  pipeHint = hints.pipe;
  isLaunched = launched;
  inOrder = true;
  for (int signal : {SIGINT, SIGHUP, SIGPIPE})
    if (std::signal(signal, handle) == SIG_IGN) // started in the background, or by nohup: stays ignored
      std::signal(signal, SIG_IGN);
  std::signal(SIGTERM, handle);
}

bool endsInOrder() { return inOrder; }

int endRequested() { return noted; }

} // namespace cleave::rt

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

// Returns the handler before. The caller of this program may have blocked the signal: the mask is inherited, and the
// signal would never come. One thread that does not block it is enough.
static void (*listenTo(int signal))(int) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  auto before = std::signal(signal, handle);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  return before;
}

void noteTermination() {
  isLaunched = 1;
  listenTo(SIGTERM);
}

bool terminationNoted() { return noted != 0; }

void endInOrder(const EndHints &hints, bool launched) {
  signalHint = hints.signal;
  pipeHint = hints.pipe;
  isLaunched = launched;
  inOrder = true;
  for (int signal : {SIGINT, SIGHUP, SIGPIPE})
    if (listenTo(signal) == SIG_IGN) // started in the background, or by nohup: stays ignored
      std::signal(signal, SIG_IGN);
  listenTo(SIGTERM);
}

bool endsInOrder() { return inOrder; }

int endRequested() { return noted; }

} // namespace cleave::rt

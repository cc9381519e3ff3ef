// Turns SIGTERM, SIGINT, SIGHUP and SIGPIPE into flags, for programs that need a moment to end in good order:
//
//   * under a launcher: mpirun sends SIGTERM to all others when one process has died, and they can report what they
//     know about it before they end;
//   * a training run that saves: it finishes its step, saves, and ends, so that Ctrl-C, or the end of a `head` or `tee`
//     in its pipe, loses nothing of a long run.
#ifndef CLEAVE_RUNTIME_BASE_TERMINATION_H
#define CLEAVE_RUNTIME_BASE_TERMINATION_H

namespace cleave::rt {

// From now on SIGTERM only sets a flag. A main program may call this, a library must not. The caller must end when
// terminationNoted() is true.
void noteTermination();
bool terminationNoted();

// What is written to stderr when the first signal arrives. May be null.
struct EndHints {
  const char *signal = nullptr, *pipe = nullptr; // pipe: for SIGPIPE
};
// From now on SIGINT, SIGHUP (a terminal that closes), SIGPIPE (the reader of the output has ended) and SIGTERM are
// requests. The program must call endRequested() now and then. A second SIGINT or SIGTERM ends the process at once.
// Under a launcher, which repeats its SIGTERM, only a second SIGINT does. A second SIGHUP does not, because a terminal
// that closes sends two. Nor does a second SIGPIPE, because each later write sends one. Only main programs may call
// this.
void endInOrder(const EndHints &hints, bool launched);
bool endsInOrder();
// Returns the signal that requests the end, or 0.
int endRequested();

} // namespace cleave::rt

#endif

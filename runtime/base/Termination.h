// SIGTERM, SIGINT, SIGHUP and SIGPIPE as something to be looked at, by programs for which an end in good order takes a
// moment:
//
//   * under a launcher: mpirun sends SIGTERM to all others when one process has died, and what they know of that is
//     worth a line before they end;
//   * a training that saves: it finishes its step, saves, and ends, so that nothing of a long run is lost to Ctrl-C, or
//     to the `head` or `tee` at the end of its pipe.
#ifndef CLEAVE_RUNTIME_BASE_TERMINATION_H
#define CLEAVE_RUNTIME_BASE_TERMINATION_H

namespace cleave::rt {

// From now on SIGTERM is only noted. Called by main programs, never by the library: whoever calls it must end when
// terminationNoted().
void noteTermination();
bool terminationNoted();

// What goes to stderr with the first signal, or null.
struct EndHints {
  const char *signal = nullptr, *pipe = nullptr; // pipe: of SIGPIPE
};
// From now on SIGINT, SIGHUP (a terminal that closes), SIGPIPE (a reader of the output that has gone) and SIGTERM are
// requests, for a program that asks endRequested() now and then. A second SIGINT or SIGTERM ends the process at once;
// under a launcher, which repeats its SIGTERM, only SIGINT does. A second SIGHUP does not: a terminal that closes sends
// two. Nor does a second SIGPIPE: each later write sends one. Called by main programs.
void endInOrder(const EndHints &hints, bool launched);
bool endsInOrder();
// The signal that asks for an end, or 0.
int endRequested();

} // namespace cleave::rt

#endif

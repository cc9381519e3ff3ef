// What each command of an emitted executable does.
#ifndef CLEAVE_RUNTIME_MAIN_COMMANDS_H
#define CLEAVE_RUNTIME_MAIN_COMMANDS_H

#include "runtime/main/CommandLine.h"

namespace cleave::rt {

// An empty message: it has been printed. `stoppedBy` is the signal that has ended a training in good order, or 0.
Status runCommand(const cleave_model &model, const Command &command, int *stoppedBy);

// The whole of main(): parses, runs, prints an error as one line. Returns the exit code: 0, 1 for what went wrong while
// running, 2 for a command line that says nothing sensible, 128 and its number for a signal (130: Ctrl-C, 143:
// SIGTERM).
int runMain(int argc, const char *const *argv, const cleave_model &model);

} // namespace cleave::rt

#endif

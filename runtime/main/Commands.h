// The commands of an emitted executable.
#ifndef CLEAVE_RUNTIME_MAIN_COMMANDS_H
#define CLEAVE_RUNTIME_MAIN_COMMANDS_H

#include "runtime/main/CommandLine.h"

namespace cleave::rt {

// Runs a command. If the status has an empty message, the message has been printed. `stoppedBy` is the signal that has
// ended a training run in good order, or 0.
Status runCommand(const cleave_model &model, const Command &command, int *stoppedBy);

// The whole of main(): parses the command line, runs the command, and prints an error as one line. Returns the exit
// code: 0; 1 for an error while running; 2 for a wrong command line; 128 plus its number for a signal (130: Ctrl-C,
// 143: SIGTERM).
int runMain(int argc, const char *const *argv, const cleave_model &model);

} // namespace cleave::rt

#endif

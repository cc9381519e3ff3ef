// Parses the command line of an emitted executable into plain structs. Every mistake becomes one line.
//
//   ./model train --data x=a.npy --lerning-rate 1     ->  train: unknown option '--lerning-rate' ...
//   ./model trian                                     ->  unknown command 'trian'; did you mean 'train'?
#ifndef CLEAVE_RUNTIME_MAIN_COMMANDLINE_H
#define CLEAVE_RUNTIME_MAIN_COMMANDLINE_H

#include "runtime/session/Generate.h"
#include "runtime/train/loop/TrainOptions.h"

#include <string>
#include <vector>

namespace cleave::rt {

enum class CommandKind { Infer, Train, Evaluate, Generate, Inspect, Help };

struct Command {
  CommandKind kind = CommandKind::Help;
  std::string help; // the text that Help prints

  SessionOptions session; // for all but Inspect
  TrainOptions train;     // for Train; Evaluate uses data and lastBatch
  GenerateOptions generate;
  std::vector<std::string> inputs, outputs; // for Infer
  bool json = false;                        // for Inspect
  bool givesSeed = false;                   // --seed is on the command line
};

// `program` is the executable's name in help and examples. An error means exit code 2, whatever its code.
Status parseCommandLine(int argc, const char *const *argv, const std::string &program, Command *result);

} // namespace cleave::rt

#endif

// The command line of an emitted executable: text to plain structs, and every mistake one line.
//
//   ./model train --data x=a.npy --lerning-rate 1     ->  unknown option --lerning-rate
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
  std::string help; // what Help prints

  SessionOptions session; // of all but Inspect
  TrainOptions train;     // of Train; Evaluate uses data and lastBatch
  GenerateOptions generate;
  std::vector<std::string> inputs, outputs; // of Infer
  bool json = false;                        // of Inspect
  bool givesSeed = false;                   // --seed is on the command line
};

// `program` is the executable's name in help and examples. A status of any kind means exit code 2.
Status parseCommandLine(int argc, const char *const *argv, const std::string &program, Command *result);

} // namespace cleave::rt

#endif

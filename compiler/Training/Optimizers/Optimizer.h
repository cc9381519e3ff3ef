// The interface of an optimizer, and the function by which a plug-in adds one to `--optimizer`.
//
// An optimizer is one file: a table of settings, a list of states, and an update rule. Cleave's own are in this folder,
// one file each (Sgd.cpp is a good one to begin with). A plug-in registers its optimizers in its callback. Nothing else
// is needed: states, sharding, checkpoints, mixed precision, offloading and `inspect` follow. The guide
// docs/extending/optimizer.md builds examples/custom-optimizer.
//
//   void registerOptimizers() {
//     registerOptimizer({"heavy-ball", "SGD with momentum (Polyak 1964)",
//                        {OptimizerSetting::number("momentum", 0.9, 0, 1, "how much of the last step stays")},
//                        [](const OptimizerSettings &) { return OptimizerStates{{"velocity"}}; },
//                        update});
//   }
//
// The learning rate is not a setting, because the compiled program reads it (train --lr, --lr-schedule).
//
// Rejected: a class with virtual functions for each optimizer. There is no object to keep: settings are values of the
// compilation, and states are values of the program. The parser, the messages and the help read a row of data. The
// registry is a shared library, so that a plug-in and the program that loads it use the same one.
#ifndef CLEAVE_COMPILER_TRAINING_OPTIMIZERS_OPTIMIZER_H
#define CLEAVE_COMPILER_TRAINING_OPTIMIZERS_OPTIMIZER_H

#include "compiler/Training/Optimizers/OptimizerSettings.h"
#include "compiler/Training/Optimizers/OptimizerUpdate.h"

#include "llvm/Support/Error.h"

namespace cleave {

// A tensor that stays from step to step. It has the parameter's shape and the type of the update (f32 for bf16 and fp16
// parameters). If PyTorch has the optimizer, the names are PyTorch's, because checkpoints contain them.
struct OptimizerState {
  std::string name;
  double init = 0; // the first value of every element
};
using OptimizerStates = std::vector<OptimizerState>;

struct Optimizer {
  std::string name;    // as a user types it
  std::string summary; // one line of help: the method and its source
  std::vector<OptimizerSetting> settings;
  // Returns the states. They may depend on settings: SGD without momentum has none.
  OptimizerStates (*states)(const OptimizerSettings &settings);
  // Called once for each bucket of parameters.
  void (*update)(OptimizerUpdate &update);
  // Returns what is wrong with a combination of settings, for example "nesterov needs momentum above 0", or an empty
  // text. May be null.
  std::string (*check)(const OptimizerSettings &settings) = nullptr;
  double rate = 1e-3; // the default learning rate of a program (train --lr)
};

// Registers an optimizer. If the declaration has a mistake, or if the name belongs to another one, the message is kept
// for checkOptimizers(), because callbacks cannot return it. It is not a mistake to register the same optimizer twice.
void registerOptimizer(Optimizer optimizer);

// Returns the mistakes of all registrations since the last call, one on each line.
llvm::Error checkOptimizers();

// Null if no optimizer has that name.
const Optimizer *findOptimizer(llvm::StringRef name);

// Returns all optimizers: Cleave's own first, then those of plug-ins in the order of their registration.
std::vector<const Optimizer *> allOptimizers();

} // namespace cleave

#endif

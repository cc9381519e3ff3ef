// The optimizers' plug-in point: what an optimizer is, and how one of your own becomes known to `--optimizer`.
//
// An optimizer is one file: a table of settings, a list of states, and an update rule. Cleave's own are beside this
// header, one file each (Sgd.cpp is a good one to begin with). One of a plug-in is registered from the plug-in's
// callback and is complete: states, sharding, checkpoints, mixed precision, offloading and `inspect` follow. The guide
// docs/extending/optimizer.md builds examples/custom-optimizer.
//
//   void registerOptimizers() {
//     registerOptimizer({"heavy-ball", "SGD with momentum (Polyak 1964)",
//                        {OptimizerSetting::number("momentum", 0.9, 0, 1, "how much of the last step stays")},
//                        [](const OptimizerSettings &) { return OptimizerStates{{"velocity"}}; },
//                        update});
//   }
//
// The learning rate is no setting: it is given to the compiled program (train --lr, --lr-schedule).
//
// Rejected: a class with virtual functions for each optimizer. There is no object to keep: settings are values of the
// compilation, states are values of the program. A row of data is what the parser, the messages and the help read.
// The registry is a shared library, so that a plug-in and the program that loads it meet in the same one.
#ifndef CLEAVE_COMPILER_TRAINING_OPTIMIZERS_OPTIMIZER_H
#define CLEAVE_COMPILER_TRAINING_OPTIMIZERS_OPTIMIZER_H

#include "compiler/Training/Optimizers/OptimizerSettings.h"
#include "compiler/Training/Optimizers/OptimizerUpdate.h"

#include "llvm/Support/Error.h"

namespace cleave {

// A tensor that stays from step to step, of the parameter's shape and in the type of the update (f32 for bf16 and fp16
// parameters). PyTorch's names are taken where PyTorch has the optimizer: checkpoints carry them.
struct OptimizerState {
  std::string name;
  double init = 0; // every element begins with this
};
using OptimizerStates = std::vector<OptimizerState>;

struct Optimizer {
  std::string name;    // what a user types
  std::string summary; // one line of help: the method, and where it comes from
  std::vector<OptimizerSetting> settings;
  // May depend on settings: SGD without momentum has none.
  OptimizerStates (*states)(const OptimizerSettings &settings);
  // Called once for each bucket of parameters.
  void (*update)(OptimizerUpdate &update);
  // What settings do not fit together, as "nesterov needs momentum above 0"; empty where they do. May be null.
  std::string (*check)(const OptimizerSettings &settings) = nullptr;
  double rate = 1e-3; // the learning rate of a program that is not given one (train --lr)
};

// A mistake in the declaration, or a name that is taken, is kept for checkOptimizers: callbacks have nowhere to return
// it to. The same optimizer registered twice is none.
void registerOptimizer(Optimizer optimizer);

// The mistakes of all registrations since the last call, one a line.
llvm::Error checkOptimizers();

// Null where none of that name is known.
const Optimizer *findOptimizer(llvm::StringRef name);

// All that are known: Cleave's own first, then those of plug-ins as they came.
std::vector<const Optimizer *> allOptimizers();

} // namespace cleave

#endif

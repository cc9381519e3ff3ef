// The machine that `--target-machine` names, and the file that `cleave calibrate` keeps of this one.
#ifndef CLEAVE_COMPILER_DRIVER_TARGETMACHINEOPTION_H
#define CLEAVE_COMPILER_DRIVER_TARGETMACHINEOPTION_H

#include "compiler/CostModel/TargetMachine.h"
#include "runtime/plan/Plan_generated.h"

#include "llvm/Support/Error.h"

namespace cleave {

struct ChosenMachine {
  TargetMachine machine;
  std::string file; // empty: of the table
};

// Where `cleave calibrate` keeps what it measured: in the user's cache ($XDG_CACHE_HOME or ~/.cache), a file for each
// processor, number of cores and number of threads of a rank. Empty where the user has no such folder.
std::string calibratedMachineFile(unsigned threads);

// `option` is a name of the table, a file, "calibrated" (the file of this machine for the plan's threads), "none", or
// empty: the calibrated one, where there is one and the plan is for hosts. Errors begin with the option or the file.
llvm::Expected<std::optional<ChosenMachine>> chooseMachine(llvm::StringRef option, const rt::fb::Plan &plan);

} // namespace cleave

#endif

// Chooses the machine of `--target-machine`, and names the files that `cleave calibrate` writes for this machine.
#ifndef CLEAVE_COMPILER_DRIVER_REPORT_TARGETMACHINEOPTION_H
#define CLEAVE_COMPILER_DRIVER_REPORT_TARGETMACHINEOPTION_H

#include "compiler/CostModel/MachineModel.h"
#include "runtime/plan/Plan_generated.h"

#include "llvm/Support/Error.h"

namespace cleave {

struct ChosenMachine {
  MachineModel machine;
  std::string file; // empty: a machine of the table
};

// Returns the file of `cleave calibrate` in the user's cache ($XDG_CACHE_HOME or ~/.cache). There is one for each
// processor, number of cores, and number of threads of a rank. Returns an empty string if the user has no such folder.
std::string calibratedMachineFile(unsigned threads);

// Returns the machine. `option` is a name of the table, a file, "calibrated" (the file of this machine for the plan's
// threads), "none", or empty: the calibrated machine, if it exists and the plan is for hosts. Errors start with the
// option or the file.
llvm::Expected<std::optional<ChosenMachine>> chooseMachine(llvm::StringRef option, const rt::fb::Plan &plan);

} // namespace cleave

#endif

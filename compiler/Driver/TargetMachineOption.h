// The machine that `--target-machine` names.
#ifndef CLEAVE_COMPILER_DRIVER_TARGETMACHINEOPTION_H
#define CLEAVE_COMPILER_DRIVER_TARGETMACHINEOPTION_H

#include "compiler/CostModel/TargetMachine.h"

#include "llvm/Support/Error.h"

namespace cleave {

// A name of the table, or a file. Errors begin with the option and the file.
llvm::Expected<TargetMachine> findTargetMachine(llvm::StringRef name);

} // namespace cleave

#endif

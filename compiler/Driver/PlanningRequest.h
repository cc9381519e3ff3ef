// What planning is asked for by the command line: its options, and the properties that tell `inspect` and the program
// what was compiled.
#ifndef CLEAVE_COMPILER_DRIVER_PLANNINGREQUEST_H
#define CLEAVE_COMPILER_DRIVER_PLANNINGREQUEST_H

#include "compiler/Driver/Options.h"
#include "compiler/Driver/WeightsImage.h"
#include "compiler/Planning/Pipeline.h"

#include <map>

namespace cleave {

class Target;

// After lowering has accepted the options. Planning adds constants to `weights`; `target` and `weights` outlive what is
// returned. `properties` are those that were found out about the model.
plan::PlanningOptions planningRequest(const CompileOptions &options, const Target &target, WeightMap &weights,
                                      const std::map<std::string, std::string> &properties);

} // namespace cleave

#endif

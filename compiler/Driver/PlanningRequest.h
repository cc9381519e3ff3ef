// Converts the command line to planning options. They include the properties by which `inspect` and the program know
// what was compiled.
#ifndef CLEAVE_COMPILER_DRIVER_PLANNINGREQUEST_H
#define CLEAVE_COMPILER_DRIVER_PLANNINGREQUEST_H

#include "compiler/Driver/Files/WeightsImage.h"
#include "compiler/Driver/Options.h"
#include "compiler/Planning/Pipeline.h"

#include <map>

namespace cleave {

class Target;

// Must be called after lowering has accepted the options. Planning adds constants to `weights`. `target` and `weights`
// must outlive the result. `properties` are facts about the model.
plan::PlanningOptions planningRequest(const CompileOptions &options, const Target &target, WeightMap &weights,
                                      const std::map<std::string, std::string> &properties);

} // namespace cleave

#endif

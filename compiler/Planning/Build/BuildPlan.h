// Creates the pass build-plan with callbacks, which pass options cannot carry. Only Pipeline.cpp needs this.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_BUILDPLAN_H
#define CLEAVE_COMPILER_PLANNING_BUILD_BUILDPLAN_H

#include "compiler/Planning/Pipeline.h"

namespace cleave::plan {

std::unique_ptr<mlir::Pass> createBuildPlanWith(const PlanningOptions &options);

} // namespace cleave::plan

#endif

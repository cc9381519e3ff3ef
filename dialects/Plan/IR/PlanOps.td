#ifndef PLAN_OPS_TD
#define PLAN_OPS_TD

include "dialects/Plan/IR/PlanInstructionOps.td"
include "dialects/Plan/IR/PlanTableOps.td"

#endif

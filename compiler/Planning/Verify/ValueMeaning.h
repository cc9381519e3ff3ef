// What the entry programs of a module in kernels form leave in states and outputs, from the values that its functions
// compute: before planning decides where values lie and when ops run. `build-plan` states it in the plan, and
// `verify-plan` asks the finished plan for it again (PlanMeaning.h).
//
// It shares no decision with planning: a value is its expression, wherever it lies. What it must know of planning is
// what changes values: padding of a collective's data with zeros, weights that are packed once, and the names that
// planning gives to constants.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_VALUEMEANING_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_VALUEMEANING_H

#include "compiler/Planning/Build/ModulePlan.h"
#include "compiler/Planning/Verify/Bodies.h"
#include "compiler/Planning/Verify/Meaning.h"

namespace cleave::plan {

// What one entry program of one kind means.
struct EntryMeaning {
  Meaning meaning;
  std::vector<uint32_t> expressions; // ascending
  std::vector<std::string> lost;     // states that it changes, and that nobody reads so
  Messages messages;                 // of a body by itself
};

// By name of the program, for each of the kinds, given with what planning has decided so far. Functions are still
// there, states have been laid out. Fails where an op has no meaning, or kinds do not meet.
mlir::FailureOr<std::vector<std::map<std::string, EntryMeaning>>>
meaningOfValues(llvm::ArrayRef<std::pair<mlir::ModuleOp, ModulePlan *>> kinds);

// Of the program that packs weights.
EntryMeaning meaningOfInit(mlir::ModuleOp module, const ModulePlan &plan);

// As `plan.program` has it: a number of 128 bits for each name. Null where there is none.
mlir::DictionaryAttr meaningAttr(mlir::Builder builder, const Meaning &meaning);
ValueNumber numberOf(mlir::IntegerAttr number);

} // namespace cleave::plan

#endif

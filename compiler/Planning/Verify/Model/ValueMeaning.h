// Computes what the entry programs of a module in kernels form leave in states and outputs. It uses the values that its
// functions compute, before planning decides where values lie and when ops run. `build-plan` states the result in the
// plan, and `verify-plan` computes it again from the finished plan (PlanMeaning.h).
//
// It shares no decision with planning: a value is its expression, wherever it lies. It must know only what planning
// does to values: it pads a collective's data with zeros, packs weights once, and gives names to constants.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_MODEL_VALUEMEANING_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_MODEL_VALUEMEANING_H

#include "compiler/Planning/Build/ModulePlan.h"
#include "compiler/Planning/Verify/Facts/Meaning.h"
#include "compiler/Planning/Verify/Values/Bodies.h"

namespace cleave::plan {

// The meaning of one entry program of one kind.
struct EntryMeaning {
  Meaning meaning;
  std::vector<uint32_t> expressions; // ascending
  std::vector<std::string> lost;     // states that it changes, and that nobody reads then
  Messages messages;                 // only of a body by itself
};

// Returns the meanings by name of the program, for each of the kinds, which are given with what planning has decided so
// far. The functions must still be there, and states must have been laid out. Fails if an op has no meaning, or kinds
// do not meet.
mlir::FailureOr<std::vector<std::map<std::string, EntryMeaning>>>
meaningOfValues(llvm::ArrayRef<std::pair<mlir::ModuleOp, ModulePlan *>> kinds);

// Returns the meaning of the program that packs weights.
EntryMeaning meaningOfInit(mlir::ModuleOp module, const ModulePlan &plan);

// Converts a meaning to the form of `plan.program`: a number of 128 bits for each name. Null if there is none.
mlir::DictionaryAttr meaningAttr(mlir::Builder builder, const Meaning &meaning);
ValueNumber numberOf(mlir::IntegerAttr number);

} // namespace cleave::plan

#endif

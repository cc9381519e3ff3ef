// What the programs of a plan state that they compute, kept apart from the module.
//
// The numbers are taken from values, by `build-plan`. A pass that somebody inserts afterwards can change them together
// with the instructions, and `verify-plan` would then compare the instructions with what the pass itself says. So the
// statement is noted before such passes, and must be the same after them.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_STATEDMEANING_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_STATEDMEANING_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Pass/Pass.h"

#include <map>
#include <string>
#include <utility>

namespace cleave::plan {

// By kind of ranks and program.
using StatedMeaning = std::map<std::pair<std::string, std::string>, mlir::DictionaryAttr>;

// Neither changes the module. `stated` must outlive both.
std::unique_ptr<mlir::Pass> createNoteMeaning(StatedMeaning &stated);
std::unique_ptr<mlir::Pass> createCompareMeaning(const StatedMeaning &stated);

} // namespace cleave::plan

#endif

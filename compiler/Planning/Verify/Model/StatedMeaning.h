// Keeps what the programs of a plan state that they compute, and what the host does with it, outside of the module.
//
// `build-plan` computes these numbers from values. A pass that is inserted later can change them together with the
// instructions, and `verify-plan` would then compare the instructions with the pass's own statement. So the numbers are
// noted before such passes, and must be the same after them. The same holds for the header, and for those of its
// options that a program acts on: which labels it accepts, and by what it divides an evaluation.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_MODEL_STATEDMEANING_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_MODEL_STATEDMEANING_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Pass/Pass.h"

#include <map>
#include <string>
#include <utility>

namespace cleave::plan {

// By kind of ranks and program. That of no program is the header.
using StatedMeaning = std::map<std::pair<std::string, std::string>, mlir::DictionaryAttr>;

// Neither pass changes the module. `stated` must outlive both.
std::unique_ptr<mlir::Pass> createNoteMeaning(StatedMeaning &stated);
std::unique_ptr<mlir::Pass> createCompareMeaning(const StatedMeaning &stated);

} // namespace cleave::plan

#endif

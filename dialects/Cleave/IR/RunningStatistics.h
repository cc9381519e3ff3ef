// What the importer says of a `cleave.normalize` whose mean and variance go into running statistics:
//
//   cleave.statistics = {mean = "bn.mean", variance = "bn.var", momentum = 0.9, count = 32}
//
// the states by name, the factor of their old values, and how many values each statistic is of. `defer-statistics`
// (compiler/Training) takes it away.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_RUNNINGSTATISTICS_H
#define CLEAVE_DIALECTS_CLEAVE_IR_RUNNINGSTATISTICS_H

#include "llvm/ADT/StringRef.h"

namespace cleave {

inline constexpr llvm::StringLiteral kStatisticsAttr = "cleave.statistics";

} // namespace cleave

#endif

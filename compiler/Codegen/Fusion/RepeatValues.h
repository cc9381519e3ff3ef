// Decides which values that one group makes and others read are not stored. The readers compute them again, from fewer
// bytes.
//
//   %s = cast %x     bf16, kept for the backward pass          {..., %s, %w, ...} writes %s and %w, {%y} reads %w
//   %w = cast %s     f32                                   =>  {..., %s, %w, ...} writes %s, {%w', %y} reads %s
//   %y = mul %w, ...
//
// A *frontier* of a value is a set of values from which the readers can compute it with a few reproducible ops. The
// frontier is moved away from the value op by op, and the one with the least traffic is chosen. If none is better, it
// is the value alone. Traffic is the number of bytes written and read: a value of the frontier costs nothing to write
// if it is in memory anyway, and nothing to read for a reader that reads it already. A frontier never has more bytes
// than the value, so the values between the groups never take more memory.
//
// This is decided after groups are known. A value whose readers are all in its group is never stored, and copies made
// earlier would keep readers apart that could have been one kernel.
#ifndef CLEAVE_COMPILER_CODEGEN_FUSION_REPEATVALUES_H
#define CLEAVE_COMPILER_CODEGEN_FUSION_REPEATVALUES_H

#include "compiler/Codegen/Fusion/FormedOps.h"
#include "compiler/Codegen/Fusion/Grouping.h"

namespace cleave {

// Changes the groups of one block, and gives them copies of each other's ops. Returns the ops that are no longer
// needed: they are in no group, and have no operands. `forms` must have the forms of all ops.
llvm::SmallVector<mlir::Operation *> repeatValues(std::vector<FusionGroup> &groups, const FormedOps &forms);

} // namespace cleave

#endif
